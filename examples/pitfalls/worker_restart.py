"""Loader workers started anew in every short epoch. rule: worker_restart"""

import torch
from pace import FIXED, steps
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

if __name__ == "__main__":
    torch.manual_seed(0)
    torch.set_num_threads(1)
    data = TensorDataset(torch.randn(256, 64))
    loader = DataLoader(data, batch_size=32, num_workers=2, persistent_workers=FIXED)
    model = nn.Sequential(nn.Linear(64, 512), nn.ReLU(), nn.Linear(512, 10))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _epoch in steps():
        for (x,) in loader:
            optimizer.zero_grad()
            model(x).square().mean().backward()
            optimizer.step()
