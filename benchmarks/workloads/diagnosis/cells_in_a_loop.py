"""A recurrent network unrolled by hand, one cell call per time step."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv


class Network(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell, self.lstm = nn.LSTMCell(32, 64), nn.LSTM(32, 64, batch_first=True)

    def forward(self, x):
        if FIXED:
            return self.lstm(x)[0]
        h = c = torch.zeros(len(x), 64)
        outputs = []
        for t in range(x.shape[1]):
            h, c = self.cell(x[:, t], (h, c))  # !
            outputs.append(h)
        return torch.stack(outputs, 1)


torch.manual_seed(0)
model = Network()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x = torch.randn(8, 80, 32)

steps, start = 60, time.perf_counter()
for _ in range(steps):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
