"""What accelerators did, and the host calls that asked for it."""

from sonde.store.schema.spec import TableSpec, f64, i32, i64, text

KERNELS = TableSpec(
    "kernels",
    "a GPU kernel, copy, set or synchronisation on a stream",
    (
        i64("kernel", "identity in this recording", refers="kernels"),
        i32("process", "process that launched it", refers="processes"),
        i32("device", "device index"),
        i64("stream", "stream (queue) id"),
        i64("start_ns", "start on the common clock", "ns"),
        i64("end_ns", "end", "ns"),
        text("name", "kernel name, demangled"),
        text("kind", "kernel, memcpy, memset, sync or annotation"),
        text("class", "compute, communication, copy or sync"),
        i64("correlation", "id shared with the launch, -1 when none"),
        i64("launch", "row in `launches`, -1 when there is none", refers="launches"),
        i64("op", "operator call that caused it, -1 when unknown", refers="ops"),
        i64("graph", "CUDA or HIP graph that replayed it, -1 when none"),
        i64("graph_node", "node in that graph, -1 when none"),
        i64("bytes", "bytes moved by a copy or set, -1 for kernels", "bytes"),
        f64("bandwidth_gbs", "bandwidth the profiler gave, NaN when none", "GB/s"),
        text("grid", "grid dimensions, [x,y,z]"),
        text("block", "block dimensions, [x,y,z]"),
        i32("registers", "registers per thread, -1 when unknown"),
        i32("shared_bytes", "shared memory per block, -1 when unknown", "bytes"),
        f64("occupancy", "estimated achieved occupancy, NaN when unknown", "%"),
        f64("blocks_per_sm", "blocks per multiprocessor, NaN when unknown"),
        f64("warps_per_sm", "warps per multiprocessor, NaN when unknown"),
        text("collective", "collective name and metadata, JSON, null when not one"),
        text("extra", "remaining arguments worth keeping, JSON"),
    ),
)

LAUNCHES = TableSpec(
    "launches",
    "a runtime or driver call of the host: launch, copy, synchronise, allocate",
    (
        i64("launch", "identity in this recording", refers="launches"),
        i32("thread", "thread that called", refers="threads"),
        i64("start_ns", "start", "ns"),
        i64("end_ns", "end", "ns"),
        text("name", "cudaLaunchKernel, hipMemcpyAsync, cuLaunchKernelEx, …"),
        text("kind", "launch, copy, set, sync, allocate, graph, event or other"),
        text("api", "runtime or driver"),
        i64("correlation", "id shared with what it caused, -1 when none"),
        i64("external_id", "id of the op around it, -1 when none"),
        i64("op", "operator call it is in, -1 when unknown", refers="ops"),
        text("extra", "remaining arguments worth keeping, JSON"),
    ),
)
