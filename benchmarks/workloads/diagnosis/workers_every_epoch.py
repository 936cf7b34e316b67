"""Short epochs whose loader starts its workers anew each time."""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv


class Numbers(Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, i):
        return torch.full((64,), float(i))


def main():
    torch.manual_seed(0)
    loader = DataLoader(Numbers(), batch_size=8, num_workers=2, persistent_workers=FIXED)
    model = nn.Linear(64, 64)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    steps, start = 0, time.perf_counter()
    for _ in range(15):
        for x in loader:  # !
            loss = model(x).square().mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            steps += 1
    print(f"{steps} steps {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    main()
