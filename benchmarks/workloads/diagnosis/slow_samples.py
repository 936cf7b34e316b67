"""A data set whose samples are expensive, read by the training process itself."""

import random
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

FIXED = "--fixed" in sys.argv


class Words(Dataset):
    def __len__(self):
        return 4000

    def __getitem__(self, i):
        rng = random.Random(i)
        text = [rng.choice("abcdefghij") for _ in range(400)]  # !
        return torch.tensor([ord(c) - 97 for c in text]), i % 2


def main():
    torch.manual_seed(0)
    loader = DataLoader(
        Words(), batch_size=16, num_workers=2 if FIXED else 0, prefetch_factor=4 if FIXED else None
    )
    model = nn.Sequential(
        nn.Embedding(10, 64), nn.Flatten(), nn.Linear(25_600, 256), nn.ReLU(), nn.Linear(256, 2)
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    steps, start = 0, time.perf_counter()
    for ids, label in loader:
        loss = nn.functional.cross_entropy(model(ids), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        steps += 1
    print(f"{steps} steps {time.perf_counter() - start:.3f} s")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
