"""A DataLoader with four workers feeds a small model until the file named first is there; prints steps and checksum."""

import hashlib
import os
import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Numbers(Dataset):
    def __len__(self) -> int:
        return 1 << 30

    def __getitem__(self, index: int) -> torch.Tensor:
        total = sum(i * i for i in range(3000))
        return torch.full((64,), float((index + total) % 97))


def main() -> None:
    stop, most = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model = nn.Linear(64, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    digest, steps = hashlib.sha256(), 0
    for batch in DataLoader(Numbers(), batch_size=8, num_workers=4):
        if steps == 0:
            print("ready", flush=True)
        optimizer.zero_grad()
        loss = model(batch).square().mean()
        loss.backward()
        optimizer.step()
        digest.update(loss.detach().numpy().tobytes())
        steps += 1
        if steps >= most or os.path.exists(stop):
            break
    print(steps, digest.hexdigest()[:16], flush=True)


if __name__ == "__main__":
    main()
