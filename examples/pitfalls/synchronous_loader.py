"""Samples that wait for storage, read by the training process itself. rule: synchronous_loader"""

import time

import torch
from pace import FIXED, steps
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.001)  # a disk or a network far away
        return torch.full((256,), float(index % 7))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Linear(256, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 10)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = iter(DataLoader(Slow(), batch_size=32, num_workers=4 if FIXED else 0))
    for _ in steps():
        x = next(batches)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
