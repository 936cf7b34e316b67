"""Accuracy counted in a Python loop over every prediction. rule: python_overhead"""

import torch
from pace import FIXED, steps
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
x, y = torch.randn(16384, 16), torch.randint(0, 10, (16384,))
for _ in steps():
    optimizer.zero_grad()
    scores = model(x)
    loss = nn.functional.cross_entropy(scores, y)
    loss.backward()
    optimizer.step()
    guesses = scores.argmax(1)
    if FIXED:
        right = int((guesses == y).sum())
    else:
        right = 0
        for guess, label in zip(guesses.tolist(), y.tolist(), strict=True):
            if guess == label:
                right += 1
