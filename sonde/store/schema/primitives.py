"""What the math libraries ran: oneDNN primitives and MKL calls."""

from sonde.store.schema.spec import TableSpec, f64, i32, i64, text

PRIMITIVES = TableSpec(
    "primitives",
    "a oneDNN primitive or MKL call of a verbose log",
    (
        i64("primitive", "identity in this recording, in the order of the log", refers="primitives"),
        i32("process", "process whose log it is in, -1 for an imported log", refers="processes"),
        i32("thread", "thread that called, -1 when the log does not say", refers="threads"),
        i64("start_ns", "start on the common clock, -1 when the log has no timestamp", "ns"),
        f64("time_ms", "time as printed", "ms"),
        text("library", "onednn or mkl"),
        text("event", "exec, create, create:cache_miss, compile:…, …"),
        text("engine", "cpu, gpu:0, …"),
        text("kind", "convolution, matmul, reorder, sgemm, …"),
        text("implementation", "jit:avx512_core, brg_matmul:…, ref:any, …"),
        text("isa", "instruction set in the implementation's name, null when it has none"),
        text("quality", "good, fallback, reference, vendor or unknown"),
        text("direction", "forward_training, backward_data, …"),
        text("layouts", "memory descriptors as printed"),
        text("dtypes", "data types in the order src, wei, bia, dst, JSON"),
        text("attributes", "attributes as printed"),
        text("post_ops", "fused operations, JSON list"),
        text("auxiliary", "alg:…, flags:…, axis:… as printed"),
        text("shape", "problem as printed"),
        f64("flops", "floating point operations, NaN when unknown"),
        f64("bytes", "bytes that must move, NaN when unknown"),
        i32("threads", "threads as printed, -1 when not printed"),
        i64("op", "operator call around it, -1 when unknown", refers="ops"),
    ),
)
