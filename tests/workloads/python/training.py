"""A small training loop with nested and shared modules."""

import sys
import time

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(256, 256)

    def forward(self, x):
        return torch.relu(self.linear(x))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3)
        self.blocks = nn.Sequential(Block(), Block())
        self.head = nn.Linear(256, 10)

    def forward(self, x):
        y = self.conv(x).flatten(1)[:, :256]
        return self.head(self.blocks(y))


def train(net, cpu_s):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    x, target = torch.randn(16, 3, 24, 24), torch.randint(0, 10, (16,))
    end = time.process_time() + cpu_s
    while time.process_time() < end:
        optimizer.zero_grad()
        nn.functional.cross_entropy(net(x), target).backward()
        optimizer.step()


train(Net(), float(sys.argv[1]))
