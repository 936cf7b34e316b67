"""A conv net whose layers report statistics of their outputs through hooks."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

statistics: dict[str, list[float]] = {}


def watch(name):
    def hook(module, inputs, output):
        flat = output.detach().flatten()
        values = [flat.mean(), flat.std(), flat.abs().max(), flat.kthvalue(flat.numel() // 2).values]  # !
        statistics.setdefault(name, []).extend(float(v) for v in values)

    return hook


torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(3, 16, 3, padding=1),
    nn.ReLU(),
    nn.MaxPool2d(2),
    nn.Conv2d(16, 32, 3, padding=1),
    nn.ReLU(),
    nn.AdaptiveAvgPool2d(1),
    nn.Flatten(),
    nn.Linear(32, 10),
)
if not FIXED:
    for name, module in model.named_modules():
        if isinstance(module, (nn.Conv2d, nn.ReLU)):
            module.register_forward_hook(watch(name))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images, labels = torch.randn(16, 3, 32, 32), torch.randint(0, 10, (16,))
steps, start = 200, time.perf_counter()
for _ in range(steps):
    loss = nn.functional.cross_entropy(model(images), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
