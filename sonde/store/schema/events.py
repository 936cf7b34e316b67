"""Everything with a time that is neither a sample nor a call: memory, counters, marks, losses."""

from sonde.store.schema.spec import TableSpec, f64, i32, i64, text

MEMORY = TableSpec(
    "memory",
    "an allocation (bytes > 0) or a free (bytes < 0) by the framework's allocator",
    (
        i64("time_ns", "when", "ns"),
        i32("thread", "thread that did it"),
        text("device", "cpu, cuda:0, …"),
        i64("address", "address of the block, -1 when unknown"),
        i64("bytes", "size, negative for a free", "bytes"),
        i64("allocated_bytes", "running total in use, -1 when unknown", "bytes"),
        i64("reserved_bytes", "running total held by the allocator, -1 when unknown", "bytes"),
        i64("op", "operator call around it, -1 when unknown"),
        text("category", "parameter, gradient, optimizer_state, activation, temporary, input or null"),
    ),
)

COUNTERS = TableSpec(
    "counters",
    "a reading of a counter",
    (
        i64("time_ns", "when", "ns"),
        i32("process", "process it belongs to, -1 for the machine"),
        text("name", "rss_bytes, cpu_user_ns, minor_faults, voluntary_switches, throttled_ns, …"),
        f64("value", "reading, in the unit the name ends in"),
    ),
)

MARKS = TableSpec(
    "marks",
    "a named stretch of time on a process or thread",
    (
        i32("mark", "identity in this recording"),
        i32("process", "process"),
        i32("thread", "thread, -1 when it concerns the process"),
        text("kind", "step, epoch, region, phase, window, compile, gc, tensors, settings, overhead_on, …"),
        text("name", "name: region name, forward/backward/optimizer, …"),
        i32("number", "step or epoch number, -1 when none"),
        i64("start_ns", "start", "ns"),
        i64("end_ns", "end", "ns"),
        text("extra", "details, JSON: reason of a graph break, failed guard, …"),
    ),
)

LOSSES = TableSpec(
    "losses",
    "a cause and a count: everything that is known to be missing or doubtful",
    (
        i32("process", "process concerned, -1 for the whole recording"),
        text("cause", "short stable word: ring_full, walk_no_cfi, truncated_log, bad_event, …"),
        i64("count", "how many samples, events or bytes"),
        text("unit", "what is counted: samples, events, bytes, threads, processes, files"),
        text("detail", "one sentence for people, with the first example seen"),
    ),
)
