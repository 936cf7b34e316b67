"""Steps, phases and epochs of real training loops: exact counts."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from sonde.analyze.steps.program import step_reports
from tests.lifecycle.observed import needs_torch, run

pytestmark = pytest.mark.serial

pytestmark = needs_torch

LOOP = """
import torch
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
data = DataLoader(TensorDataset(torch.randn(40, 4), torch.randint(0, 2, (40,))), batch_size=8)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
def step(x, y):
    optimizer.zero_grad()
    torch.nn.functional.cross_entropy(model(x), y).backward()
    optimizer.step()
"""


def test_a_training_loop_with_validation(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        LOOP
        + """
held_out = DataLoader(TensorDataset(torch.randn(12, 4)), batch_size=4)
for epoch in range(3):
    for x, y in data:
        step(x, y)
    with torch.no_grad():
        for (x,) in held_out:
            model(x)
print("done")
""",
    )
    assert (done.code, done.stdout, done.stderr) == (0, "done\n", "")
    assert done.marks("step") == 15
    assert done.marks("epoch") == 6
    assert done.marks("phase", "optimizer") == done.marks("phase", "backward") == 15
    assert done.marks("phase", "forward") == 15 + 9
    assert done.marks("phase", "dataloader") == 15 + 9
    assert done.causes() == []


def test_gan_accumulation_lbfgs_and_two_threads(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch, threading
        lin = torch.nn.Linear
        a, b = lin(3, 3), lin(3, 3)
        first, second = (torch.optim.Adam(m.parameters()) for m in (a, b))
        x = torch.randn(5, 3)
        for batch in range(7):          # a GAN: 7 steps
            b(a(x)).sum().backward(); second.step()
            b(a(x)).sum().backward(); first.step()
        for micro in range(12):         # accumulation by 4: 3 steps, 10 in all
            a(x).sum().backward()
            if micro % 4 == 3:
                first.step()
        """,
    )
    assert (done.code, done.stderr) == (0, "")
    assert done.marks("step") == 10
    done = run(
        tmp_path,
        """
        import torch, threading
        def train(steps):
            model = torch.nn.Linear(3, 3)
            optimizer = torch.optim.LBFGS(model.parameters(), max_iter=3)
            x = torch.randn(5, 3)
            def closure():
                optimizer.zero_grad()
                loss = model(x).square().sum()
                loss.backward()
                return loss
            for _ in range(steps):
                optimizer.step(closure)
        threads = [threading.Thread(target=train, args=(n,)) for n in (4, 5)]
        [t.start() for t in threads]; [t.join() for t in threads]
        """,
        environment={},
    )
    assert (done.code, done.stderr) == (0, "")
    table = done.framework().tables["marks"]
    last = table.array("process") == table.array("process").max()
    assert int((table.text("kind").equals("step") & last).sum()) == 9


def test_inference_calls_are_steps_when_nothing_trains(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch
        model = torch.nn.Sequential(torch.nn.Linear(3, 64), torch.nn.ReLU(), torch.nn.Linear(64, 3))
        loss = torch.nn.MSELoss()
        with torch.inference_mode():
            for _ in range(20):
                loss(model(torch.ones(2, 3)), torch.zeros(2, 3))
        """,
    )
    assert (done.code, done.stderr) == (0, "")
    assert done.marks("step") == done.marks("step", "inference") == 20


def test_very_short_inference_calls_are_counted_exactly(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch
        model = torch.nn.Linear(3, 3)
        with torch.inference_mode():
            for _ in range(5000):
                model(torch.ones(1, 3))
        """,
    )
    assert (done.code, done.stderr) == (0, "")
    assert done.marks("step") == 5000
    assert done.marks("phase", "forward") < 2500  # in bursts, or it would cost more than the calls


def test_what_was_marked_survives_kill_9(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        LOOP
        + """
import os, signal
for x, y in data:
    step(x, y)
os.kill(os.getpid(), signal.SIGKILL)
""",
    )
    assert done.code == -signal.SIGKILL
    assert done.marks("phase", "optimizer") == 5
    assert done.marks("step") == 5


def test_models_still_pickle_copy_script_and_trace(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch, copy, io, pickle, warnings
        warnings.simplefilter("ignore")
        model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU())
        x = torch.ones(1, 3)
        expected = model(x)
        buffer = io.BytesIO(); torch.save(model, buffer); buffer.seek(0)
        for other in (
            copy.deepcopy(model),
            pickle.loads(pickle.dumps(model)),
            torch.load(buffer, weights_only=False),
            torch.jit.script(model),
            torch.jit.trace(model, x),
            torch.fx.symbolic_trace(model),
        ):
            assert torch.equal(other(x), expected), other
        class Net(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.layer = torch.nn.Linear(3, 3)
            def forward(self, x):
                return self.layer(x) + 1
        nodes = [n.op for n in torch.fx.symbolic_trace(Net()).graph.nodes]
        assert nodes == ["placeholder", "call_module", "call_function", "output"], nodes
        """,
    )
    assert (done.code, done.stderr) == (0, "")


def test_signals_and_exit_codes_are_the_programs_own(tmp_path: Path) -> None:
    assert run(tmp_path, "import torch, sys; sys.exit(7)").code == 7
    assert run(tmp_path, "import torch, os; os._exit(3)").code == 3
    done = run(tmp_path, "import torch; torch.nn.Linear(2, 2)(torch.ones(3))")
    assert done.code == 1
    assert "shapes cannot be multiplied" in done.stderr
    assert os.path.basename(__file__) not in done.stderr


def test_a_step_that_the_scaler_leaves_out_is_a_step(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch
        model = torch.nn.Linear(3, 3)
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        scaler = torch.amp.GradScaler("cpu")
        stepped = []
        optimizer.register_step_post_hook(lambda *_: stepped.append(1))
        for batch in range(20):
            x = torch.ones(2, 3) * (float("inf") if batch % 5 == 4 else 1.0)
            optimizer.zero_grad()
            scaler.scale(model(x).sum()).backward()
            scaler.step(optimizer)
            scaler.update()
        print(len(stepped))
        """,
    )
    assert (done.code, done.stderr, done.stdout) == (0, "", "16\n")
    assert done.marks("step") == done.marks("step", "train") == 20


def test_very_short_training_steps_are_counted_exactly_with_phases_for_some(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import torch
        class Still(torch.optim.Optimizer):
            def step(self): pass
        first, second = (Still([torch.zeros(1)], {}) for _ in range(2))
        for _ in range(3000): first.step()
        for _ in range(1000): second.step()
        for _ in range(500): first.step(); second.step()
        """,
    )
    assert (done.code, done.stderr) == (0, "")
    # Where one optimizer takes over from another, one step may be seen as part of a pair.
    assert abs(done.marks("step") - 4500) <= 2
    assert 64 <= done.marks("phase", "optimizer") < 2500


def test_slow_first_steps_are_warm_up_within_one(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        LOOP
        + """
import time
def burn(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass
number = 0
for epoch in range(8):
    for x, y in data:
        burn(0.08 if number < 6 else 0.02)
        step(x, y)
        number += 1
""",
    )
    assert (done.code, done.stderr) == (0, "")
    (report,) = step_reports(done.framework().tables["marks"])
    assert len(report.steps) == 40
    assert abs(report.warmup - 6) <= 1
