"""The whole state saved after every step. rule: io_in_step"""

import tempfile
from pathlib import Path

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 1024), nn.ReLU(), nn.Linear(1024, 10))
optimizer = torch.optim.Adam(model.parameters(), fused=True)
x, y = torch.randn(64, 512), torch.randint(0, 10, (64,))
with tempfile.TemporaryDirectory(dir=".") as folder:
    for step in steps():
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        if not FIXED or step % 500 == 499:
            torch.save(
                {"model": model.state_dict(), "optimizer": optimizer.state_dict()}, Path(folder) / "last.pt"
            )
