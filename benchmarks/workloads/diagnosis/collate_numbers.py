"""A collate function that converts number by number."""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv


class Points(Dataset):
    def __init__(self):
        generator = torch.Generator().manual_seed(0)
        self.rows = torch.randn(4096, 256, generator=generator)

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i] if FIXED else self.rows[i].tolist()


def collate(rows):
    if FIXED:
        return torch.stack(rows)
    return torch.tensor([[float(v) for v in row] for row in rows])  # !


torch.manual_seed(0)
loader = DataLoader(Points(), batch_size=64, collate_fn=collate)
model = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
steps, start = 0, time.perf_counter()
for _ in range(4):
    for x in loader:
        loss = model(x).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
