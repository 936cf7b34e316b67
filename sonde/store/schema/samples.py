"""What was seen: frames, stacks as a prefix tree, and samples that point into it."""

from sonde.store.schema.spec import TableSpec, flag, i32, i64, text

FRAMES = TableSpec(
    "frames",
    "a distinct place in a stack",
    (
        i32("frame", "identity in this recording: the row it stands in, from 0", refers="frames"),
        text("layer", "python, module, op, native, jit, kernel (operating system), gpu or label"),
        text("name", "name for people: shortened C++ name, Python function, module path, operator"),
        text("full_name", "the whole name: demangled C++ with arguments, qualified Python name"),
        text("file", "source file, null when unknown"),
        i32("line", "source line, -1 when unknown"),
        text("library", "file name of the library or program that holds the code"),
        text("build_id", "build id of that library, to name the address again elsewhere"),
        i64("address", "address within that library, or of the JIT code; -1 for other layers"),
        flag("inlined", "the frame stands for code inlined into the frame below it"),
        flag("runtime", "interpreter or dispatcher machinery that views hide by default"),
    ),
)

STACKS = TableSpec(
    "stacks",
    "a node of the prefix tree: a stack is its node and all its parents",
    (
        i32("stack", "identity in this recording: the row it stands in, from 0", refers="stacks"),
        i32("parent", "the caller's node, -1 at the root", refers="stacks"),
        i32("frame", "the frame added at this node", refers="frames"),
        i32("depth", "number of frames from the root, 1 at the root"),
        flag("heuristic", "the step from this frame to its caller was found by a heuristic, not by CFI"),
    ),
)

SAMPLES = TableSpec(
    "samples",
    "a moment of one thread: where it was, and how much time that stands for",
    (
        i64("time_ns", "when, CLOCK_MONOTONIC", "ns"),
        i32("thread", "the thread that was sampled", refers="threads"),
        i32(
            "stack", "where it was; for a pool worker its own frames under the owner's stack", refers="stacks"
        ),
        text(
            "state",
            "running, spinning (busy-waiting: idle pool threads), imbalance (waiting at a region's end) or waiting",
        ),
        text("reason", "for waiting: lock, gil, io, sleep, fault, preempted, idle or other; else null"),
        i64("weight_ns", "CPU time, or wall time for waiting, that it stands for", "ns"),
        i32(
            "owner",
            "thread that opened the parallel region the worker is in (spinning: that it was in last), -1 none",
            refers="threads",
        ),
        i64("op", "operator call in `ops`, -1 when outside a window", refers="ops"),
        i32("step", "step in `marks` that holds the moment, -1 when none", refers="marks"),
        text(
            "walk",
            "how the native walk ended: root, or why it stopped short; residual: no sample, but CPU time after "
            "the thread's last one, at the places of its last samples",
        ),
        i32("handler_ns", "how long the thread stood still while it was sampled, from `time_ns` on", "ns"),
        text("anchor", "hit: the walk passed the interpreter's own frame; missed; none: nothing to check"),
    ),
)
