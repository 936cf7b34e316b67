"""The operator table on calls small enough to add up by hand."""

from __future__ import annotations

import numpy as np
import pytest

from sonde.analyze.ops.table import op_table
from sonde.analyze.steps.program import step_reports, warmup_steps
from sonde.columns import Table
from sonde.errors import UsageError
from sonde.link.forward import with_forward
from sonde.link.memory import with_memory
from sonde.store import build


def _ops() -> Table:
    # 0: linear 0..100 { 1: addmm 10..90 { 2: copy_ 20..30 } }   3: linear 200..240 { 4: addmm 205..235 }
    # 5: relu 300..350 { 6: relu 310..340 }   (a redispatch: one call)
    return build.table(
        "ops",
        op=np.arange(7),
        thread=np.zeros(7, np.int32),
        start_ns=[0, 10, 20, 200, 205, 300, 310],
        end_ns=[100, 90, 30, 240, 235, 350, 340],
        parent=[-1, 0, 1, -1, 3, -1, 5],
        name=["linear", "addmm", "copy_", "linear", "addmm", "relu", "relu"],
        kind=["op"] * 7,
        shapes=["[[2]]", "[[2]]", None, "[[9]]", "[[9]]", "[]", "[]"],
        module=["a", "a", "a", "b", "b", None, None],
        cpu_mem_bytes=[64, 64, 0, 8, 8, 4, 4],
        device_mem_bytes=np.zeros(7, np.int64),
    )


def _rows(table: Table) -> dict[tuple[str | None, str | None], tuple[int, int, int, int, int]]:
    return {
        (table.text("name")[i], table.text("key")[i]): tuple(
            int(table.array(c)[i])
            for c in ("calls", "total_ns", "self_ns", "cpu_mem_bytes", "self_cpu_mem_bytes")
        )
        for i in range(len(table))
    }


def test_by_name() -> None:
    assert _rows(op_table(_ops())) == {
        ("linear", None): (2, 140, 30, 72, 0),
        ("addmm", None): (2, 110, 100, 72, 72),
        ("copy_", None): (1, 10, 10, 0, 0),
        ("relu", None): (1, 50, 50, 4, 4),
    }


def test_by_shape_and_by_module() -> None:
    by_shape = _rows(op_table(_ops(), by="shape"))
    assert by_shape["addmm", "[[2]]"] == (1, 80, 70, 64, 64)
    assert by_shape["addmm", "[[9]]"] == (1, 30, 30, 8, 8)
    assert _rows(op_table(_ops(), by="module"))["linear", "b"] == (1, 40, 10, 8, 0)


def test_self_times_add_up_to_the_time_at_the_top() -> None:
    for by in ("name", "shape", "module", "line", "thread", "phase"):
        assert op_table(_ops(), by=by).array("self_ns").sum() == 100 + 40 + 50


def test_a_grouping_that_does_not_exist() -> None:
    with pytest.raises(UsageError, match="colour"):
        op_table(_ops(), by="colour")


def test_device_time_goes_to_the_op_and_up() -> None:
    kernels = build.table(
        "kernels", kernel=[0, 1], start_ns=[0, 5], end_ns=[7, 9], kind=["kernel", "memcpy"], op=[1, 2]
    )
    table = op_table(_ops(), kernels=kernels)
    at = table.text("name").tolist().index("linear")
    assert (table.array("device_total_ns")[at], table.array("device_self_ns")[at]) == (11, 0)


def test_device_time_of_a_folded_call_stays_with_the_call_it_is_folded_into() -> None:
    # op 6 is the redispatch of op 5: one call, whose kernel hangs on the inner row.
    kernels = build.table(
        "kernels", kernel=[0, 1], start_ns=[0, 5], end_ns=[7, 9], kind=["kernel", "kernel"], op=[6, 1]
    )
    table = op_table(_ops(), kernels=kernels)
    at = table.text("name").tolist().index("relu")
    assert (table.array("device_total_ns")[at], table.array("device_self_ns")[at]) == (7, 7)
    assert table.array("device_self_ns").sum() == 7 + 4


def test_memory_goes_to_the_innermost_op_and_what_is_outside_has_its_own_row() -> None:
    memory = build.table(
        "memory", time_ns=[25, 95, 150], thread=[0, 0, 0], device=["cpu"] * 3, bytes=[100, -40, 7]
    )
    linked = with_memory({"ops": _ops(), "memory": memory})
    ops, memory = linked["ops"], linked["memory"]
    assert memory.array("op").tolist() == [2, 0, -1]
    assert ops.array("cpu_mem_bytes").tolist() == [60, 100, 100, 0, 0, 0, 0]
    assert _rows(op_table(ops, memory))["[memory]", None] == (1, 0, 0, 7, 7)


def test_backward_ops_take_module_and_line_from_their_forward_op() -> None:
    node = "autograd::engine::evaluate_function: "
    ops = build.table(
        "ops",
        op=np.arange(10, 17),
        thread=np.zeros(7, np.int32),
        start_ns=[0, 2, 20, 40, 41, 50, 60],
        end_ns=[10, 8, 30, 49, 48, 55, 70],
        parent=[-1, 10, -1, -1, 13, -1, -1],
        name=[
            "aten::linear",
            "aten::addmm",
            "aten::relu",
            node + "AddmmBackward0",
            "aten::mm",
            node + "torch::autograd::AccumulateGrad",
            "aten::add_",
        ],
        kind=["op", "op", "op", "backward", "op", "backward", "op"],
        sequence=[5, 5, 6, 5, -1, -1, -1],
        forward_thread=[0, 0, 0, 1, -1, -1, -1],
        module=["head", "head", "act", None, None, None, "optimizer"],
        line=[12, 12, 13, 22, 22, 22, 30],
    )
    found = with_forward({"ops": ops})["ops"]
    assert found.array("forward_op").tolist() == [-1, -1, -1, 11, 11, 11, -1]
    assert found.text("module").tolist() == ["head", "head", "act", "head", "head", "head", "optimizer"]
    assert found.array("line").tolist() == [12, 12, 13, 12, 12, 12, 30]


def test_warmup_is_the_leading_slow_steps() -> None:
    rng = np.random.default_rng(0)
    for planted in (0, 1, 2, 5, 8):
        for _ in range(20):
            durations = 10 + rng.normal(0, 0.2, 40)
            durations[:planted] *= 3
            assert abs(warmup_steps(durations) - planted) <= 1


def test_a_slow_step_in_the_middle_is_no_warmup() -> None:
    durations = np.full(40, 10.0)
    durations[5] = 100
    assert warmup_steps(durations) == 0


def test_phases_are_exclusive_and_the_rest_is_other() -> None:
    marks = build.table(
        "marks",
        mark=np.arange(5),
        process=np.zeros(5, np.int32),
        thread=np.zeros(5, np.int32),
        kind=["step", "phase", "phase", "step", "phase"],
        name=["train", "optimizer", "backward", "train", "forward"],
        number=[0, -1, -1, 1, -1],
        start_ns=[0, 10, 20, 100, 110],
        end_ns=[100, 90, 50, 200, 120],
    )
    (report,) = step_reports(marks)
    assert report.steps[0].phase_ns == {"optimizer": 50, "backward": 30, "other": 20}
    assert report.steps[1].phase_ns == {"forward": 10, "other": 90}
    assert (report.kind, report.warmup, report.median_ns) == ("train", 0, 100.0)


def test_flops_that_nobody_knows_are_not_zero() -> None:
    ops = build.table(
        "ops",
        op=[0, 1, 2],
        parent=[-1, -1, -1],
        thread=[0, 0, 0],
        start_ns=[0, 10, 20],
        end_ns=[5, 15, 25],
        kind=["op", "op", "op"],
        name=["aten::mm", "aten::mm", "aten::sort"],
        flops=[100.0, np.nan, np.nan],
    )
    table = op_table(ops)
    flops = dict(zip(table.text("name").tolist(), table.array("flops").tolist(), strict=True))
    assert flops["aten::mm"] == 100.0
    assert np.isnan(flops["aten::sort"])
