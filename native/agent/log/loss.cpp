#include "log/loss.h"

namespace sonde {

namespace detail {
std::atomic<uint64_t> loss_counts[static_cast<size_t>(Loss::kCount)];
}

// In the order of enum Loss.
const LossName kLossNames[static_cast<size_t>(Loss::kCount)] = {
    {"ring_full", "samples", "a thread's ring was full; the weight moved to its next sample"},
    {"reentrant_sample", "samples", "a tick arrived while the handler was still at work"},
    {"threads_over_limit", "threads", "more threads at once than the agent follows"},
    {"threads_not_armed", "threads", "no sampling engine could be armed; only the CPU time is known"},
    {"threads_unknown", "threads", "started by other means than pthread_create, and cannot be sampled; only the CPU time is known"},
    {"perf_scarce", "threads", "sampled by a timer because file descriptors are scarce"},
    {"kernel_stacks_off", "threads", "no memory for the kernel's stacks (RLIMIT_MEMLOCK); kernel time is under its caller"},
    {"fault_guard_lost", "events", "the program replaced SIGSEGV or SIGBUS without sigaction; it was taken back"},
    {"signal_lost", "events", "the program replaced SIGPROF without sigaction; it was taken back"},
    {"record_too_large", "events", "a record was too large for the raw log"},
    {"node_epochs", "events", "the stack tables were reset to stay within memory; nothing is missing"},
    {"no_memory", "events", "the system gave the agent no memory"},
    {"python_unknown", "events", "a Python version that the agent does not know: no Python frames"},
    {"python_walk_failed", "samples", "the Python stack is incomplete"},
    {"python_truncated", "samples", "the Python stack is deeper than the agent reads"},
    {"child_not_followed", "processes", "a child process could not be followed"},
    {"code_table_full", "events", "Python code objects that have no name"},
    {"jit_names_lost", "events", "generated code whose name could not be kept"},
    {"pool_regions_nested", "events", "parallel regions nested deeper than the agent follows"},
    {"wait_changed", "events", "a blocked thread moved on while its stack was read"},
    {"switch_records_lost", "events", "the kernel dropped context switch records"},
    {"small_signal_stack", "samples", "no room for the handler on the program's own signal stack; the weight moved on"},
    {"threads_signal_taken", "threads", "blocks SIGPROF, which the program takes itself; only the CPU time is known from then on"},
    {"threads_confined", "threads", "started after the program set a seccomp filter; only the CPU time is known"},
    {"pool_not_found", "events", "a parallel region ran on one thread: its runtime could not be found"},
    {"event_not_written", "events", "steps, phases or regions of a native program that could not be written"},
};

}  // namespace sonde
