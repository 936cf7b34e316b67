"""A data set that reads from slow storage, with one worker."""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv


class Remote(Dataset):
    def __len__(self):
        return 1600

    def __getitem__(self, i):
        time.sleep(0.004)
        return torch.full((128,), i / 1600), i % 3


def main():
    torch.manual_seed(0)
    loader = DataLoader(Remote(), batch_size=16, num_workers=8 if FIXED else 1)
    model = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    steps, start = 0, time.perf_counter()
    for x, y in loader:  # !
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
    print(f"{steps} steps {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    main()
