"""Two seconds of matrix multiplications, forward and backward."""

import time

import torch

model = torch.nn.Sequential(torch.nn.Linear(256, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10))
rows = torch.randn(128, 256)
end = time.thread_time() + 2
while time.thread_time() < end:
    model(rows).sum().backward()
print("busy: done")
