"""A program that trains, validates every so often, saves and generates: every pass is in its phase, and no other."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

class Scale(nn.Module):  # a transform that is a module, as torchvision's are
    def forward(self, x):
        return x * 2

class Data(Dataset):
    scale = Scale()
    def __len__(self):
        return 240
    def __getitem__(self, i):
        return self.scale(torch.full((256,), i / 240))

model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256))
optimizer = torch.optim.SGD(model.parameters(), 0.01)

def spend():
    for _ in range(20):
        torch.randn(128, 128) @ torch.randn(128, 128)

@torch.no_grad()
def validate():
    for _ in range(6):
        model(torch.randn(2048, 256))

@torch.no_grad()
def generate():
    for _ in range(8):
        model(torch.randn(4096, 256))

for step, x in enumerate(DataLoader(Data(), batch_size=8)):
    if step % 10 == 0:
        validate()
    loss = (model(x) - x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    spend()
generate()
"""


def test_every_pass_is_in_its_phase(tmp_path: Path) -> None:
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "sonde"]
    subprocess.run(
        [*command, "run", "--quiet", "-o", "r.sonde", "program.py"], cwd=tmp_path, check=True, timeout=300
    )
    shown = subprocess.run(
        [*command, "show", "r.sonde", "steps", "--json"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    found = json.loads(shown.stdout)
    assert found["count"] == 30
    passes = {phase["name"]: phase["count"] for phase in found["run"] if phase["count"]}
    assert passes.pop("training") == 30
    # 18 passes of validation and 8 of generation, and no transform among them. The first are before any step.
    assert sum(passes.values()) == 26
    assert passes.get("generation") == 8
