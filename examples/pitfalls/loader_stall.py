"""One worker where three are needed. rule: loader_stall"""

import time

import torch
from pace import FIXED, steps
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset[torch.Tensor]):
    def __len__(self) -> int:
        return 100_000

    def __getitem__(self, index: int) -> torch.Tensor:
        time.sleep(0.002)  # a disk or a network far away
        return torch.full((256,), float(index % 7))


if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    batches = iter(DataLoader(Slow(), batch_size=8, num_workers=4 if FIXED else 1))
    for _ in steps():
        x = next(batches)
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
