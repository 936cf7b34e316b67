"""What ranks said to each other."""

from sonde.store.schema.spec import TableSpec, i32, i64, text

COLLECTIVES = TableSpec(
    "collectives",
    "a collective call, a send or a receive on one rank",
    (
        i64("collective", "identity in this recording, by the moment it was queued", refers="collectives"),
        i32("process", "process that called", refers="processes"),
        i32("thread", "thread that called", refers="threads"),
        i32("group", "its process group", refers="groups"),
        i64("number", "its number in the group, the same on all ranks; -1 for a send or receive"),
        text("kind", "all_reduce, all_gather, reduce_scatter, broadcast, barrier, send, receive, …"),
        i32("peer", "the other rank of a send or receive, by its number in the group; -1 for a collective"),
        i64("bytes", "size of this rank's input (of what a receive brings), -1 when unknown", "bytes"),
        text("dtype", "type of its elements, null when it has none"),
        i64("queued_ns", "when the program asked for it", "ns"),
        i64("start_ns", "when the backend began with it, -1 when it never did", "ns"),
        i64("end_ns", "when it had ended on this rank, -1 when it never did", "ns"),
        i64("waited_ns", "how long the program stood still in wait() for it, -1 when unknown", "ns"),
        i32("step", "step in `marks` that it was queued in, -1 when none", refers="marks"),
        text("file", "file of the line that asked for it, null when unknown"),
        i32("line", "that line, -1 when unknown"),
    ),
)
