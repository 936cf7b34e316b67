"""A regression that writes all its predictions as JSON lines in every step."""

import json
import sys
import tempfile
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(64, 256), nn.Tanh(), nn.Linear(256, 1))
optimizer = torch.optim.Adam(model.parameters())
x, y = torch.randn(2048, 64), torch.randn(2048, 1)
steps = 250
with tempfile.TemporaryFile("w") as log:
    start = time.perf_counter()
    for step in range(steps):
        prediction = model(x)
        loss = nn.functional.mse_loss(prediction, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        record = {"step": step, "loss": loss.item()}
        if not FIXED:
            record["prediction"] = prediction.detach().flatten().tolist()
        log.write(json.dumps(record) + "\n")  # !
    elapsed = time.perf_counter() - start
print(f"{steps} steps {elapsed:.3f} s")
