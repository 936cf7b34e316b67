"""Everything with a time that is neither a sample nor a call: memory, counters, marks, losses."""

from sonde.store.schema.spec import TableSpec, f64, i32, i64, text

MEMORY = TableSpec(
    "memory",
    "an allocation (bytes > 0) or a free (bytes < 0) by the framework's allocator",
    (
        i64("time_ns", "when", "ns"),
        i32("thread", "thread that did it", refers="threads"),
        text("device", "cpu, cuda:0, …"),
        i64("address", "address of the block, -1 when unknown"),
        i64("bytes", "size, negative for a free", "bytes"),
        i64("allocated_bytes", "running total in use, -1 when unknown", "bytes"),
        i64("reserved_bytes", "running total held by the allocator, -1 when unknown", "bytes"),
        i64("op", "operator call around it, -1 when unknown", refers="ops"),
        text("category", "parameter, gradient, optimizer_state, activation, temporary, input or null"),
    ),
)

COUNTERS = TableSpec(
    "counters",
    "a reading of a counter",
    (
        i64("time_ns", "when", "ns"),
        i32("process", "process it belongs to, -1 for the machine", refers="processes"),
        text("name", "rss_bytes, cpu_user_ns, minor_faults, voluntary_switches, throttled_ns, …"),
        f64("value", "reading, in the unit the name ends in"),
    ),
)

MARKS = TableSpec(
    "marks",
    "a named stretch of time on a process or thread",
    (
        i32("mark", "identity in this recording", refers="marks"),
        i32("process", "process", refers="processes"),
        i32("thread", "thread, -1 when it concerns the process", refers="threads"),
        text(
            "kind",
            "step, epoch, region, phase, window, compile, gc, tensors, settings, values, loop, pause, overhead_on, …",
        ),
        text("name", "name: region name, forward/backward/optimizer, …"),
        i32("number", "step or epoch number, -1 when none"),
        i64("start_ns", "start", "ns"),
        i64("end_ns", "end", "ns"),
        text("extra", "details, JSON; see COMPILE_DETAILS for kind compile"),
    ),
)

# What `extra` of a mark of kind "compile" holds, by the mark's name; a key without a value is left out.
COMPILE_DETAILS = {
    # Any other name is the function that was compiled (or "backward"), from start to end of its compilation.
    "compilation": {
        "compile_id": "dynamo's number, 0/0: frame and attempt; an attempt above 0 is a recompile",
        "file": "file of the function",
        "line": "its first line",
        "recompile_reason": "the guard that failed and so made this compilation necessary",
        "graph_breaks": "graph breaks in it",
        "ops": "operators in its graph",
        "fail_reason": "why it could not be compiled",
        "cache_hits": "graphs that came from Inductor's cache",
        "cache_misses": "graphs that did not",
        "aot_cache_hits": "graphs that came from AOTAutograd's cache",
        "dynamo_us": "microseconds in dynamo, inner stages included",
        "aot_us": "microseconds in AOTAutograd, Inductor included",
        "inductor_us": "microseconds in Inductor",
    },
    "graph_break": {
        "reason": "what dynamo says",
        "file": "file of the program's line that broke the graph",
        "line": "that line",
    },
    "kernel": {
        "kernel": "name: cpp_fused_gelu_0, triton_poi_fused_add_1; extern_kernels.addmm for calls of a library",
        "library": "the kernel's own .so",
        "wrapper": "the generated Python file that calls it",
        "direction": "forward, backward or inference",
        "fused": "operators in it: [aten::mul, aten::relu]",
        "nodes": "nodes of the graph in it",
        "sources": "lines they came from: [{file, line, function, code, op}]; backward ones: the forward's line",
        "modules": "paths of the modules they came from",
        "provenance": "who said so: compiler, cache (an earlier run's compiler), code (its line map), name",
    },
}

LOSSES = TableSpec(
    "losses",
    "a cause and a count: everything that is known to be missing or doubtful",
    (
        i32("process", "process concerned, -1 for the whole recording", refers="processes"),
        text("cause", "short stable word: ring_full, walk_no_cfi, truncated_log, bad_event, …"),
        i64("count", "how many samples, events or bytes"),
        text("unit", "what is counted: samples, events, bytes, threads, processes, files"),
        text("detail", "one sentence for people, with the first example seen"),
    ),
)
