"""Raw logs into tables: exact stacks from logs made by hand."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from sonde.analyze.samples.labels import frame_labels
from sonde.columns import Table
from sonde.ingest.agent import ProcessFacts, assemble
from sonde.ingest.agent import log as raw
from sonde.ingest.agent.runtime_names import python_is_runtime
from sonde.link import link_recording
from sonde.symbols.kernel import KernelFunction, KernelNames
from tests.unit.ingest.logs import BASE, LogBuilder

EVAL = "_PyEval_EvalFrameDefault"


def stacks_of(tables: dict[str, Table]) -> list[str]:
    """One line per sample, root first, as collapsed stacks show them."""
    labels = frame_labels(tables["frames"])
    parent, frame = tables["stacks"].array("parent"), tables["stacks"].array("frame")
    lines = []
    for stack in tables["samples"].array("stack").tolist():
        names: list[str] = []
        while stack >= 0:
            names.append(labels[frame[stack]])
            stack = int(parent[stack])
        lines.append(";".join(reversed(names)))
    return lines


def run(log: LogBuilder) -> dict[str, Table]:
    return assemble([log.build()], log.names())


def losses_of(tables: dict[str, Table]) -> dict[str | None, int]:
    losses = tables["losses"]
    return dict(zip(losses.text("cause").tolist(), losses.array("count").tolist(), strict=True))


def test_python_frames_stand_at_the_evaluation_frames_that_run_them() -> None:
    log = LogBuilder()
    native = log.native("main", EVAL, "map_next", EVAL, "list_sort")
    python = log.python("<module>", "train", "key", "compare", entry=("<module>", "key"))
    log.sample(native=native, python=python)
    tables = run(log)
    assert stacks_of(tables) == [
        f"main;{EVAL};<module> (model.py:10);train (model.py:20);map_next;"
        f"{EVAL};key (model.py:30);compare (model.py:40);list_sort"
    ]
    assert losses_of(tables) == {}


def test_the_evaluation_frame_of_a_stripped_interpreter_has_its_name_and_is_machinery() -> None:
    log = LogBuilder()
    nameless = log.node(log.native("main"), BASE + 0x8010, flags=8)  # the agent knows it, no symbol does
    log.sample(native=nameless, python=log.python("<module>", entry=("<module>",)))
    tables = run(log)
    assert stacks_of(tables) == [f"main;{EVAL};<module> (model.py:10)"]
    frames = tables["frames"]
    assert frames.array("runtime")[frames.text("name").tolist().index(EVAL)]


@pytest.mark.parametrize("name", ["Thread._bootstrap", "_bootstrap_inner"])
def test_the_start_of_a_thread_is_machinery_with_and_without_qualified_names(name: str) -> None:
    assert python_is_runtime(name, "/usr/lib/python3.10/threading.py")
    assert not python_is_runtime(name, "/home/me/model.py")


def test_decorators_of_the_optimizer_only_pass_a_call_on() -> None:
    file = "/venv/site-packages/torch/optim/optimizer.py"
    assert python_is_runtime("Optimizer.profile_hook_step.<locals>.wrapper", file)
    assert python_is_runtime("wrapper", file)  # 3.10
    assert not python_is_runtime("Optimizer.zero_grad", file)
    assert not python_is_runtime("wrapper", "/home/me/torch_helpers/optimizer.py")


def test_an_evaluation_frame_that_has_not_begun_stays_native() -> None:
    log = LogBuilder()
    python = log.python("<module>", entry=("<module>",))
    log.sample(native=log.native("main", EVAL, "call", EVAL), python=python)
    tables = run(log)
    assert stacks_of(tables) == [f"main;{EVAL};<module> (model.py:10);call;{EVAL}"]
    assert losses_of(tables) == {}


def test_counts_that_do_not_match_are_a_loss() -> None:
    log = LogBuilder()
    python = log.python("<module>", entry=("<module>",))
    log.sample(native=log.native("main", EVAL, "call", EVAL, "leaf"), python=python)
    assert losses_of(run(log)) == {"merge_inexact": 1}


def test_outer_python_frames_go_above_a_native_walk_that_stopped_short() -> None:
    log = LogBuilder()
    python = log.python("<module>", "outer", "inner", entry=("<module>", "inner"))
    log.sample(native=log.native("generated", EVAL, "leaf"), python=python, walk_end=3)
    tables = run(log)
    assert stacks_of(tables) == [
        f"<module> (model.py:10);outer (model.py:20);generated;{EVAL};inner (model.py:30);leaf"
    ]
    assert losses_of(tables) == {"walk_no_caller": 1}
    assert tables["samples"].text("walk")[0] == "no_caller"


def test_python_without_native_and_native_without_python() -> None:
    log = LogBuilder()
    log.sample(python=log.python("<module>", "train", entry=("<module>",)))
    log.sample(native=log.native("main", "work"), time_ns=1)
    log.sample(time_ns=2)
    log.sample(time_ns=3, thread=1, walk_end=raw.WALK_RESIDUAL)
    tables = run(log)
    assert stacks_of(tables) == [
        "<module> (model.py:10);train (model.py:20)",
        "main;work",
        "[label] no stack",
        "[label] CPU time between samples",
    ]
    assert tables["samples"].text("walk").tolist()[3] == "residual"


def test_operators_are_inserted_once_per_call() -> None:
    log = LogBuilder()
    chain = (
        "torch::autograd::THPVariable_linear(_object*, _object*, _object*)",
        "at::_ops::linear::call(at::Tensor const&)",
        "at::_ops::linear::redispatch(c10::DispatchKeySet)",
        "at::_ops::addmm::call(at::Tensor const&)",
        "at::native::addmm(at::Tensor const&)",
    )
    log.sample(native=log.native("main", *chain))
    log.sample(native=log.native("main", chain[1], chain[1]), time_ns=1)
    assert stacks_of(run(log)) == [
        "main;[op] aten::linear;torch::autograd::THPVariable_linear;at::_ops::linear::call;"
        "at::_ops::linear::redispatch;[op] aten::addmm;at::_ops::addmm::call;at::native::addmm",
        "main;[op] aten::linear;at::_ops::linear::call;[op] aten::linear;at::_ops::linear::call",
    ]


def test_backward_nodes_are_operators() -> None:
    log = LogBuilder()
    log.sample(native=log.native("main", "torch::autograd::generated::AddmmBackward0::apply(int&&)", "x"))
    assert stacks_of(run(log)) == [
        "main;[op] AddmmBackward0;torch::autograd::generated::AddmmBackward0::apply;x"
    ]


def test_modules_stand_before_their_first_call_frame_and_nest() -> None:
    log = LogBuilder(modules=[(5, 0xA0, "net"), (5, 0xB0, "net.layer"), (5, 0xB0, "shared.layer")])
    outer = log.python("<module>", entry=("<module>",))
    outer = log.python("_call_impl", "Net.forward", parent=outer, self_pointer=0xA0)
    leaf = log.python("_call_impl", "Layer.forward", parent=outer, self_pointer=0xB0)
    log.sample(python=leaf, time_ns=3)
    assert stacks_of(run(log)) == [
        "<module> (model.py:10);[module] net;_call_impl (model.py:20);Net.forward (model.py:30);"
        "[module] net.layer;_call_impl (model.py:20);Layer.forward (model.py:40)"
    ]


def test_an_address_that_is_reused_keeps_its_names_by_time() -> None:
    log = LogBuilder(
        modules=[(0, 0xA0, "first"), (100, 0xA0, "second")],
        jit=[(0, 0x900000, 64, "old_kernel", "perfmap"), (100, 0x900020, 64, "new_kernel", "perfmap")],
    )
    python = log.python("forward", entry=("forward",), self_pointer=0xA0)
    native = log.node(log.native("main", EVAL), 0x900030)
    for moment in (50, 150):
        log.sample(native=native, python=python, time_ns=moment)
    assert stacks_of(run(log)) == [
        f"main;{EVAL};[module] first;forward (model.py:10);[jit] old_kernel",
        f"main;{EVAL};[module] second;forward (model.py:10);[jit] new_kernel",
    ]


def test_jit_code_is_named_even_when_its_name_came_later_and_unnamed_code_is_a_place() -> None:
    log = LogBuilder(
        jit=[
            (500, 0x900000, 64, "jit:conv", "perfmap"),
            (0, 0x900000, 0x1000, None, "region"),
        ]
    )
    log.sample(native=log.node(0, 0x900010), time_ns=10)
    log.sample(native=log.node(0, 0x900800), time_ns=11)
    log.sample(native=log.node(0, 0x123456), time_ns=12)
    tables = run(log)
    assert stacks_of(tables) == [
        "[jit] jit:conv",
        "[jit] code 0x900000-0x901000",
        "[jit] code 0x123456",
    ]
    assert tables["frames"].text("full_name").tolist() == ["jit:conv", None, None]


def test_unnamed_generated_code_is_known_by_the_function_that_called_it() -> None:
    log = LogBuilder()
    called = log.native("main", "fbgemm::ExecuteKernel<int>::execute(int)")
    inner = log.node(log.node(called, 0x123456), 0x123999)  # generated code that calls generated code
    evaluated = log.native("_PyEval_EvalFrameDefault")
    log.sample(native=inner)
    log.sample(native=log.node(evaluated, 0x123456))
    stacks = stacks_of(run(log))
    kernel = "[jit] generated code called by fbgemm::ExecuteKernel::execute"
    assert any(stack.endswith(f"execute;{kernel};{kernel}") for stack in stacks)
    assert any("[jit] code 0x123456" in stack for stack in stacks)  # the interpreter calls everything


def test_a_worker_stands_under_its_owner() -> None:
    log = LogBuilder(threads=[(0, 100, 1, "main", 0), (1, 101, 0, "worker", 0)])
    owner = log.native("main", EVAL, "at::_ops::mm::call(int)", "GOMP_parallel")
    worker = log.native("clone3", "gomp_thread_start", "kernel")
    python = log.python("<module>", "train", entry=("<module>",))
    log.sample(thread=1, native=worker, python=python, owner=0, owner_native=owner)
    tables = run(log)
    assert stacks_of(tables) == [
        f"main;{EVAL};<module> (model.py:10);train (model.py:20);[op] aten::mm;at::_ops::mm::call;"
        "GOMP_parallel;[label] pool;clone3;gomp_thread_start;kernel"
    ]
    assert tables["samples"].array("owner").tolist() == [0]
    assert tables["threads"].text("kind").tolist() == ["main", "omp"]
    assert losses_of(tables) == {}


def test_a_question_to_the_openmp_runtime_is_no_wait() -> None:
    log = LogBuilder()
    spinning, imbalance = raw.STATES.index("spinning"), raw.STATES.index("imbalance")
    for leaf, state in (
        ("omp_get_max_threads", spinning),
        ("omp_in_parallel", imbalance),
        ("gomp_team_barrier_wait_end", imbalance),
        ("omp_set_lock", spinning),
    ):
        log.sample(native=log.native("main", "parallel_for", leaf), state=state)
    worker = log.native("start_thread", "run_task", "omp_get_max_threads")
    log.sample(native=worker, owner=0, owner_native=log.native("main", "launch"), state=spinning)
    tables = run(log)
    states = tables["samples"].text("state").tolist()
    assert states == ["running", "running", "imbalance", "spinning", "running"]
    assert stacks_of(tables)[-1] == "main;launch;[label] pool;start_thread;run_task;omp_get_max_threads"


def test_return_addresses_are_looked_up_one_byte_earlier() -> None:
    log = LogBuilder(functions={0x100: "caller", 0x200: "next_function", 0x300: "leaf_end"})
    parent = log.node(0, BASE + 0x200)  # a call that ends `caller`: the return address is the next function
    log.sample(native=log.node(parent, BASE + 0x300))  # the leaf is exact
    assert stacks_of(run(log)) == ["caller;leaf_end"]


def test_functions_without_a_name_show_their_place() -> None:
    log = LogBuilder()
    log.sample(native=log.node(0, BASE + 0x5010))
    tables = run(log)
    assert stacks_of(tables) == ["libwork.so+0x5010"]
    assert tables["frames"].text("full_name").tolist() == [None]


def test_a_nameless_function_that_only_waits_is_called_a_wait() -> None:
    log = LogBuilder()
    for moment in range(10):
        log.sample(native=log.node(0, BASE + 0x5010), state=2, time_ns=moment)
        log.sample(native=log.node(0, BASE + 0x6010), state=moment % 2, time_ns=moment)
    assert set(stacks_of(link_recording(run(log)))) == {"wait loop of libwork.so", "libwork.so+0x6010"}


def test_texts_and_machinery_are_marked() -> None:
    log = LogBuilder(waits=[{"time_ns": 5, "state": 3, "reason": 2, "anchor": 2}])
    log.sample(native=log.native("main", EVAL, "c10::Dispatcher::call(int)", "work"), state=1, anchor=1)
    tables = run(log)
    samples, frames = tables["samples"], tables["frames"]
    assert samples.text("state").tolist() == ["spinning", "waiting"]
    assert samples.text("reason").tolist() == [None, "gil"]
    assert samples.text("anchor").tolist() == ["missed", "hit"]
    runtime = dict(zip(frames.text("name").tolist(), frames.array("runtime").tolist(), strict=True))
    assert runtime == {
        "main": False,
        EVAL: True,
        "c10::Dispatcher::call": True,
        "work": False,
        "no stack": False,
    }


def test_processes_are_ordered_and_related() -> None:
    parent = LogBuilder(pid=10, parent_pid=1, start_ns=5, footer=raw.Footer(99, 0, 7, 8, 9))
    child = LogBuilder(pid=11, parent_pid=10, start_ns=6, threads=[(3, 11, 1, "w", 0)])
    child.sample(thread=3, python=child.python("_worker_loop"))
    child.codes[0] = ("_worker_loop", "/x/torch/utils/data/_utils/worker.py", 1, b"")
    tables = assemble([child.build(), parent.build()], parent.names(), facts={10: ProcessFacts(exit_code=3)})
    processes = tables["processes"]
    assert processes.array("pid").tolist() == [10, 11]
    assert processes.array("parent").tolist() == [-1, 0]
    assert processes.text("role").tolist() == ["main", "dataloader"]
    assert processes.text("command").tolist() == ["python model.py", "python model.py"]
    assert processes.array("exit_code").tolist() == [3, -1000]
    assert processes.array("end_ns").tolist()[0] == 99
    assert tables["samples"].array("thread").tolist() == [1]
    assert tables["threads"].array("process").tolist() == [0, 1]


def test_losses_blocks_counters_and_statistics_are_kept() -> None:
    log = LogBuilder(
        losses=[("ring_full", "samples", 2, "why"), ("ring_full", "samples", 3, "why")],
        blocks=[(0, 10, True, 4), (10, 20, False, 3)],
        counters=[(1, "rss_bytes", 5.0)],
    )
    tables = run(log)
    assert losses_of(tables) == {"ring_full": 5}
    assert tables["marks"].text("kind").tolist() == ["overhead_on", "overhead_off"]
    assert tables["marks"].text("extra")[0] == '{"cpu_ns": 4}'
    assert tables["marks"].array("mark").tolist() == [0, 1]
    assert tables["counters"].text("name").tolist() == ["rss_bytes", "agent_handler_ns"]


def test_an_empty_log_gives_empty_tables() -> None:
    tables = run(LogBuilder())
    assert len(tables["samples"]) == 0
    assert len(tables["processes"]) == 1


@pytest.mark.slow
def test_a_quarter_of_a_million_samples_take_a_second_or_two() -> None:
    log = LogBuilder()
    leaves = []
    for i in range(300):
        chain = log.native("main", EVAL, *(f"f{i % 17}_{k}" for k in range(20)), f"leaf{i}")
        leaves.append((chain, log.python("<module>", f"g{i % 30}", entry=("<module>",))))
    for native, python in leaves:
        log.sample(native=native, python=python)
    small = log.build()
    many = {n: np.resize(getattr(small.samples, n), 250_000) for n in small.samples.__dataclass_fields__}
    big = raw.RawLog(**{**small.__dict__, "samples": raw.RawSamples(**many)})
    begin = time.process_time()
    tables = assemble([big], log.names())
    assert len(tables["samples"]) == 250_000
    assert time.process_time() - begin < 3


def test_a_line_of_inductor_names_the_kernel_it_calls(tmp_path: Path) -> None:
    generated = tmp_path / "ab" / f"c{'a' * 50}.py"
    generated.parent.mkdir()
    generated.write_text("def call(args):\n    x = 1\n    cpp_fused_add_sin_0(x, args)\n")
    log = LogBuilder()
    python = log.python("call", entry=("call",))
    log.codes[0] = ("Runner.call", str(generated), 3, b"")
    log.sample(native=log.native("main", EVAL, "kernel"), python=python)
    assert stacks_of(run(log)) == [
        f"main;{EVAL};Runner.call (c{'a' * 50}.py:3);[op] cpp_fused_add_sin_0;kernel"
    ]


KERNEL = 0xFFFF_FFFF_8100_0000
IN_KERNEL = 32


def kernel_log() -> LogBuilder:
    log = LogBuilder()
    outer = log.node(log.native("main", "read"), KERNEL + 0x110, IN_KERNEL)
    log.sample(native=log.node(outer, KERNEL + 0x200, IN_KERNEL))
    return log


def test_kernel_frames_have_their_names_and_callers_the_line_before_their_return() -> None:
    log = kernel_log()
    names = log.names()
    functions = [("entry_SYSCALL", 0x100), ("ksys_read", 0x111), ("read_zero", 0x200)]
    names.kernel = KernelNames(KernelFunction(name, KERNEL + at, "[kernel]") for name, at in functions)
    tables = assemble([log.build()], names)
    assert stacks_of(tables) == ["main;read;[kernel] entry_SYSCALL;[kernel] read_zero"]
    assert losses_of(tables) == {}


def test_a_kernel_that_hides_its_names_is_one_frame_and_a_loss() -> None:
    log = kernel_log()
    names = log.names()
    names.kernel = KernelNames(missing="hidden")
    tables = assemble([log.build()], names)
    assert stacks_of(tables) == ["main;read;[kernel] (no name)"]
    assert losses_of(tables) == {"kernel_names": 1}


@pytest.mark.parametrize(
    ("engine", "seen"),
    [
        ("timer+kernel", "main;read"),
        ("perf+kernel", "main;read;[kernel] asm_sysvec_apic_timer_interrupt;[kernel] read_zero"),
    ],
)
def test_the_interrupt_that_made_a_sample_is_not_where_its_thread_was(engine: str, seen: str) -> None:
    log = kernel_log()
    log.engine = engine
    names = log.names()
    functions = [("asm_sysvec_apic_timer_interrupt", 0x100), ("ksys_read", 0x111), ("read_zero", 0x200)]
    names.kernel = KernelNames(KernelFunction(name, KERNEL + at, "[kernel]") for name, at in functions)
    assert stacks_of(assemble([log.build()], names)) == [seen]
