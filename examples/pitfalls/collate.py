"""Batches put together from lists of Python numbers. rule: collate_bound"""

import numpy as np
import torch
from pace import FIXED, steps
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Rows(Dataset[np.ndarray]):
    def __init__(self) -> None:
        self.rows = np.random.default_rng(0).standard_normal((4096, 512)).astype(np.float32)

    def __len__(self) -> int:
        return 10**9

    def __getitem__(self, index: int) -> np.ndarray:
        return self.rows[index % 4096]


def slow_collate(rows: list[np.ndarray]) -> torch.Tensor:
    return torch.tensor([row.tolist() for row in rows])


def fast_collate(rows: list[np.ndarray]) -> torch.Tensor:
    return torch.from_numpy(np.stack(rows))


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
batches = iter(DataLoader(Rows(), batch_size=128, collate_fn=fast_collate if FIXED else slow_collate))
for _ in steps():
    x = next(batches)
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
