"""Links between ops, host calls and device work, on traces small enough to check by eye."""

from __future__ import annotations

import json

from sonde.store.recording import Recording

from .synthetic import event, losses, read


def names(recording: Recording, table: str, link: str, target: str) -> list[str | None]:
    """The names that a link column leads to."""
    rows = recording.table(table).array(link).tolist()
    found = recording.table(target).text("name")
    return [found[r] if r >= 0 else None for r in rows]


def test_an_op_holds_the_calls_inside_it() -> None:
    recording = read(
        [
            event("cpu_op", "aten::mm", 12, 5),
            event("cpu_op", "aten::linear", 10, 10),
            event("cpu_op", "aten::relu", 20, 5),
            event("cpu_op", "aten::empty", 13, 0),
            event("cpu_op", "other thread", 11, 2, tid=2),
        ]
    )
    ops = recording.table("ops")
    parents = dict(zip(ops.text("name").tolist(), names(recording, "ops", "parent", "ops"), strict=True))
    assert parents == {
        "aten::linear": None,
        "aten::mm": "aten::linear",
        "aten::empty": "aten::mm",
        "aten::relu": None,
        "other thread": None,
    }
    assert ops.array("op").tolist() == list(range(5))


def test_calls_that_overlap_without_nesting_are_counted_and_go_to_what_holds_them() -> None:
    recording = read(
        [event("cpu_op", "all", 0, 100), event("cpu_op", "a", 10, 20), event("cpu_op", "b", 20, 30)]
    )
    assert names(recording, "ops", "parent", "ops") == [None, "all", "all"]
    assert losses(recording) == {"calls_not_nested": 1}


def test_kernels_find_their_call_by_correlation_and_their_op_through_it() -> None:
    recording = read(
        [
            event("cpu_op", "aten::mm", 0, 10, **{"External id": 5}),
            event("cpu_op", "aten::add", 20, 10, **{"External id": 6}),
            event("cuda_runtime", "cudaLaunchKernel", 2, 1, correlation=100, **{"External id": 5}),
            event("cuda_runtime", "cudaLaunchKernel", 22, 1, correlation=101),
            event("kernel", "gemm", 5, 9, stream=7, device=0, correlation=100),
            event("kernel", "add", 25, 9, stream=7, device=0, correlation=101),
        ]
    )
    assert names(recording, "launches", "op", "ops") == ["aten::mm", "aten::add"]
    assert names(recording, "kernels", "op", "ops") == ["aten::mm", "aten::add"]
    assert recording.table("kernels").array("launch").tolist() == [0, 1]
    assert losses(recording) == {}


def test_a_graph_launch_has_many_kernels() -> None:
    recording = read(
        [
            event("cuda_runtime", "cudaGraphLaunch", 0, 5, correlation=9),
            *[
                event("kernel", f"k{i}", 10 + i, 1, stream=7, correlation=9, **{"graph node id": i + 1})
                for i in range(4)
            ],
        ]
    )
    kernels = recording.table("kernels")
    assert kernels.array("launch").tolist() == [0, 0, 0, 0]
    assert kernels.array("graph_node").tolist() == [1, 2, 3, 4]
    assert recording.table("launches").text("kind").tolist() == ["graph"]


def test_an_external_id_that_is_the_correlation_is_none() -> None:
    recording = read(
        [
            event("cpu_op", "aten::around", 0, 10, **{"External id": 1}),
            event("cpu_op", "aten::far", 50, 10, **{"External id": 100}),
            event("cuda_runtime", "cudaLaunchKernel", 2, 1, correlation=100, **{"External id": 100}),
        ]
    )
    assert names(recording, "launches", "op", "ops") == ["aten::around"]


def test_skew_is_kept_and_reported() -> None:
    recording = read(
        [
            event("cuda_runtime", "cudaLaunchKernel", 100, 1, correlation=1),
            event("kernel", "early", 40, 9, stream=7, correlation=1),
            event("kernel", "orphan", 50, 9, stream=8, correlation=77),
        ]
    )
    kernels = recording.table("kernels")
    assert kernels.array("start_ns").tolist() == [40_000, 50_000]
    assert kernels.array("launch").tolist() == [0, -1]
    assert losses(recording) == {"kernels_without_launch": 1, "kernels_before_launch": 1}
    detail = recording.table("losses").text("detail").values
    assert any("60.000 us before" in d for d in detail)


def test_backward_ops_find_the_last_forward_op_of_their_number() -> None:
    forward = {"Sequence number": 3, "Fwd thread id": 0}
    backward = {"Sequence number": 3, "Fwd thread id": 1}
    recording = read(
        [
            event("cpu_op", "aten::linear", 0, 10, **forward),
            event("cpu_op", "aten::addmm", 2, 5, **forward),
            event("cpu_op", "aten::later", 90, 5, **forward),
            event("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", 50, 10, 2, **backward),
            event("cpu_op", "AddmmBackward0", 51, 5, 2, **backward),
        ]
    )
    assert names(recording, "ops", "forward_op", "ops")[3:] == ["aten::addmm", "aten::addmm"]
    assert recording.table("ops").text("kind").tolist()[3:] == ["backward", "backward"]
    assert recording.table("threads").text("kind").tolist() == ["main", "autograd"]


def test_arrows_of_the_profiler_decide_over_sequence_numbers() -> None:
    arrow = {"cat": "fwdbwd", "name": "fwdbwd", "id": 1, "pid": 1}
    recording = read(
        [
            event("cpu_op", "aten::outer", 0, 10, **{"Sequence number": 3, "Fwd thread id": 0}),
            event("cpu_op", "aten::inner", 2, 5, **{"Sequence number": 3, "Fwd thread id": 0}),
            event("cpu_op", "MulBackward0", 50, 10, 2, **{"Sequence number": 3, "Fwd thread id": 1}),
            {"ph": "s", **arrow, "tid": 1, "ts": 0},
            {"ph": "f", **arrow, "tid": 2, "ts": 50, "bp": "e"},
        ]
    )
    assert names(recording, "ops", "forward_op", "ops") == [None, None, "aten::outer"]


def test_python_frames_give_stack_module_and_line() -> None:
    frames = ["train.py(7): <module>", "nn.Module: Net_0", "torch/nn/modules/module.py(1): _call_impl"]
    frames += ["net.py(12): forward", "nn.Module: Linear_0", "<built-in function linear>"]
    recording = read(
        [
            *[event("python_function", f, i, 100 - 2 * i) for i, f in enumerate(frames)],
            event("cpu_op", "aten::linear", 20, 10),
        ]
    )
    ops = recording.table("ops")
    row = ops.text("name").tolist().index("aten::linear")
    assert ops.text("stack")[row] == ";".join(frames)
    assert ops.text("module")[row] == "Net_0.Linear_0"
    assert (ops.text("file")[row], int(ops.array("line")[row])) == ("net.py", 12)
    assert ops.text("kind").tolist() == ["python", "module", "python", "python", "module", "python", "op"]


def test_old_call_stacks_are_turned_leaf_last() -> None:
    stack = "/env/site-packages/torch/nn/linear.py(9): forward;model.py(4): run;main.py(1): <module>"
    recording = read([event("Operator", "aten::t", 0, 1, **{"Call stack": stack})])
    ops = recording.table("ops")
    assert ops.text("stack")[0] == ";".join(reversed(stack.split(";")))
    assert (ops.text("file")[0], int(ops.array("line")[0])) == ("model.py", 4)


def test_memory_events_belong_to_the_op_around_them() -> None:
    def memory(ts: int, size: int, kind: int) -> dict[str, object]:
        args = {"Bytes": size, "Addr": 64, "Device Type": kind, "Device Id": kind - 1, "Total Allocated": 7}
        return {"ph": "i", "s": "t", "name": "[memory]", "pid": 1, "tid": 1, "ts": ts, "args": args}

    recording = read(
        [
            event("cpu_op", "outer", 0, 100),
            event("cpu_op", "inner", 10, 10),
            memory(15, 512, 0),
            memory(50, -100, 0),
            memory(60, 4096, 1),
            memory(500, 1, 0),
        ]
    )
    table, ops = recording.table("memory"), recording.table("ops")
    assert names(recording, "memory", "op", "ops") == ["inner", "outer", "outer", None]
    assert table.text("device").tolist() == ["cpu", "cpu", "cuda:0", "cpu"]
    assert ops.array("cpu_mem_bytes").tolist() == [412, 512]
    assert ops.array("device_mem_bytes").tolist() == [4096, 0]


def test_steps_and_regions_become_marks() -> None:
    recording = read(
        [
            event("user_annotation", "ProfilerStep#12", 0, 50),
            event("Operator", "ProfilerStep#13", 50, 50),
            event("user_annotation", "forward", 1, 2),
            event("gpu_user_annotation", "forward", 3, 2, stream=7),
            event("Trace", "PyTorch Profiler (0)", 0, 100),
        ]
    )
    marks = recording.table("marks")
    rows = list(
        zip(
            marks.text("kind").tolist(),
            marks.text("name").tolist(),
            marks.array("number").tolist(),
            strict=True,
        )
    )
    assert sorted(rows, key=str) == [
        ("region", "forward", -1),
        ("region", "forward", -1),
        ("step", "ProfilerStep#12", 12),
        ("step", "ProfilerStep#13", 13),
        ("window", "PyTorch Profiler (0)", -1),
    ]


def test_collectives_reach_the_kernel_through_the_op_that_launched_it() -> None:
    args = {"Collective name": "allreduce", "In msg nelems": 8, "dtype": "Float", "Group size": 2}
    recording = read(
        [
            event("cpu_op", "record_param_comms", 0, 20, **args),
            event("user_annotation", "nccl:all_reduce", 1, 18),
            event("cuda_runtime", "cudaLaunchKernel", 5, 1, correlation=4),
            event("kernel", "void my_fused_ring<float>(int)", 9, 4, stream=20, correlation=4),
        ]
    )
    kernels = recording.table("kernels")
    assert json.loads(kernels.text("collective")[0] or "") == args
    assert kernels.text("class").tolist() == ["communication"]


def test_metadata_may_come_after_the_events() -> None:
    from .synthetic import read_bytes

    body = json.dumps([event("kernel", "k", 1.5, 1, stream=3)])
    tail = '"distributedInfo": {"rank": 5, "world_size": 8}, "baseTimeNanoseconds": 1727743122000000000'
    recording = read_bytes(f'{{"traceEvents": {body}, {tail}}}'.encode())
    assert recording.table("kernels").array("start_ns").tolist() == [1727743122000001500]
    processes = recording.table("processes")
    assert (processes.array("rank").tolist(), processes.array("world_size").tolist()) == ([5], [8])
