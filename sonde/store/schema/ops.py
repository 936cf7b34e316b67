"""What the framework did: operator calls."""

from sonde.store.schema.spec import TableSpec, f64, flag, i32, i64, text

OPS = TableSpec(
    "ops",
    "an operator call, a user region or a Python function of a framework profiler",
    (
        i64("op", "identity in this recording, ascending by start within a thread", refers="ops"),
        i32("thread", "thread that ran it", refers="threads"),
        i64("start_ns", "start", "ns"),
        i64("end_ns", "end", "ns"),
        i64("parent", "enclosing call on the same thread, -1 at the top", refers="ops"),
        text("name", "aten::addmm, user region name, autograd node, …"),
        text(
            "kind",
            "op, annotation, python, module, backward or compiled; printed: timed while --primitives printed",
        ),
        text("shapes", "input shapes as the profiler gives them, JSON"),
        text("dtypes", "input types, JSON"),
        text("strides", "input strides, JSON"),
        text("inputs", "concrete scalar inputs, JSON"),
        text("module", "module path, encoder.layers.3.attn"),
        text("file", "file of the user's line that caused it"),
        i32("line", "the user's line, -1 when unknown"),
        text("stack", "Python call stack of an imported trace, leaf last, ';' between frames"),
        i64("sequence", "autograd sequence number, -1 when none"),
        i64("forward_thread", "thread id in the trace of the forward op, -1 when none"),
        i64("forward_op", "op that created the autograd node of a backward op, -1 when none", refers="ops"),
        i64("external_id", "id that launches refer to, -1 when none"),
        flag("is_async", "runs apart from its thread, so it nests nowhere"),
        f64("flops", "floating point operations, NaN when unknown"),
        f64(
            "bytes",
            "bytes that must move, NaN when unknown",
        ),
        i64("cpu_mem_bytes", "net CPU allocation inside, children included", "bytes"),
        i64("device_mem_bytes", "net device allocation inside, children included", "bytes"),
        text("extra", "remaining arguments worth keeping, JSON"),
    ),
)
