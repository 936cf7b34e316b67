"""The ways in which time can be won, few and general, and the evidence that speaks for one.

Enters: what a group of host samples does, when in the step, and how it changes over the run. Leaves: a `Way` with
the share of the time that it wins back (least, most) and words for people. Rules give the specific text where
one fits; where none does, the way is what a card says.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Way:
    """`won`: part of the time that the way wins back, least and most. Below 0: it may be slower."""

    name: str
    won: tuple[float, float]
    why: str
    fix: str


ONCE = Way(
    "once",
    (0.3, 1.0),
    "The same work is done in every step. What does not change between steps can be done once, before the loop.",
    "# {place}: compute it once before the loop, or keep the result and use it again",
)
LESS_OFTEN = Way(
    "less often",
    (0.6, 1.0),
    "No step needs the result: it is made after the update, or beside the model. It need not be made every time.",
    "if step % 100 == 0:\n    ...  # {place}",
)
IN_BULK = Way(
    "in bulk",
    (0.25, 1.0),
    "Many small calls cost more than the work in them. One call over all rows, tensors or time steps pays it once.",
    "# {place}: one call on stacked tensors instead of one per element",
)
IN_ONE_PASS = Way(
    "in one pass",
    (-0.3, 0.7),
    "Each operator reads and writes the whole tensor. Fused, they touch memory once.",
    "model = torch.compile(model)   # or an operator that does the chain at once; may be slower here: prove first",
)
INCREMENTALLY = Way(
    "incrementally",
    (0.3, 1.0),
    "Its time grows from step to step: it works again on everything that came before.",
    "# {place}: keep a running result and add only what is new",
)
ELSEWHERE = Way(
    "elsewhere",
    (0.3, 1.0),
    "The step waits for work that feeds it. It can be done before the loop, or by a worker while the step before runs.",
    "# {place}: prepare it before the loop, or in a Dataset of a DataLoader with num_workers > 0",
)
OTHER_FORMAT = Way(
    "in another format",
    (0.1, 1.0),
    "The data is moved into another layout, type or order before it can be used.",
    "# {place}: make the data in the form that its user needs: dtype, memory layout, sorted or packed indices",
)
NOT_AT_ALL = Way(
    "not at all",
    (0.6, 1.0),
    "Nothing that the program computes depends on it.",
    "# {place}: take it out, or switch it on only to debug",
)
OTHER_HANDS = Way(
    "with fewer or more hands",
    (-0.2, 0.9),
    "Threads wait for each other or for a lock instead of working.",
    "# fewer threads (OMP_NUM_THREADS), or work that is split evenly; may be slower here: prove first",
)
WAITING = Way(
    "waiting for someone",
    (0.3, 1.0),
    "The step stands still until something else is done.",
    "# {place}: start it earlier, in another thread or process, and fetch the result when it is needed",
)

_BY_KIND = {
    "debugging": NOT_AT_ALL,
    "sleep": NOT_AT_ALL,
    "io": LESS_OFTEN,
    "gc": LESS_OFTEN,
    "locks": OTHER_HANDS,
    "barriers": OTHER_HANDS,
    "communication": WAITING,
    "waiting": WAITING,
    "loading": ELSEWHERE,
    "compiling": ONCE,
}
_IN_MODEL = {
    "copies": OTHER_FORMAT,
    "gather": OTHER_FORMAT,
    "random": OTHER_FORMAT,
    "memory": IN_ONE_PASS,
    "allocation": ONCE,
    "dispatch": IN_BULK,
    "autograd": IN_BULK,
    "python": IN_BULK,
    "native": ELSEWHERE,
    "arithmetic": ONCE,
}


def way_of(kind: str, role: str, grows: bool, repeats: bool) -> Way:
    """The way for time of one kind: what it is first, then how it changes, then when in the step it is spent."""
    if kind in _BY_KIND:
        return _BY_KIND[kind]
    if grows:
        return INCREMENTALLY
    if role in ("hook", "after"):
        return LESS_OFTEN
    if repeats:
        return IN_BULK
    if role == "before":
        return ELSEWHERE if kind in ("python", "native", "dispatch") else ONCE
    return _IN_MODEL.get(kind, ONCE)


WAY_OF_RULE: dict[str, str] = {
    **dict.fromkeys(
        ("constant_moved", "constant_rebuilt", "recompiles", "primitive_creation", "warm_up"), "once"
    ),
    **dict.fromkeys(("worker_restart", "device_allocation", "page_faults", "huge_pages"), "once"),
    **dict.fromkeys(("gc_pauses", "io_in_step", "host_sync"), "less often"),
    **dict.fromkeys(("host_bound_gpu", "overhead_bound", "loop_indexing", "python_overhead"), "in bulk"),
    **dict.fromkeys(("per_tensor_optimizer", "kernel_gaps", "collate_bound"), "in bulk"),
    **dict.fromkeys(
        ("pointwise_kernels", "small_op_chains", "unfused_attention", "graph_breaks"), "in one pass"
    ),
    "memory_growth": "incrementally",
    **dict.fromkeys(("gpu_input", "loader_stall", "synchronous_loader"), "elsewhere"),
    **dict.fromkeys(
        ("fp32_precision", "fp64_by_accident", "bf16_without_hardware", "denormals"), "in another format"
    ),
    **dict.fromkeys(
        ("isa_capped", "reference_kernels", "reorders", "noncontiguous_copies"), "in another format"
    ),
    **dict.fromkeys(
        ("tensor_cores_unused", "misaligned_gemm", "dense_embedding_gradient"), "in another format"
    ),
    **dict.fromkeys(
        ("pageable_copies", "cudnn_benchmark", "roofline_outlier", "fragmentation"), "in another format"
    ),
    **dict.fromkeys(("debug_left_on", "missing_inference_mode", "conv_bias", "zero_grad"), "not at all"),
    **dict.fromkeys(
        ("threads_above_quota", "oversubscription", "smt_siblings", "spin_share", "serial_regions"),
        "with fewer or more hands",
    ),
    **dict.fromkeys(
        ("multi_instance", "false_affinity", "several_openmp", "numa_remote", "cpu_migrations"),
        "with fewer or more hands",
    ),
    **dict.fromkeys(("gil_contention", "stolen_time"), "with fewer or more hands"),
    **dict.fromkeys(("storage_bound", "exposed_communication", "straggler"), "waiting for someone"),
}
