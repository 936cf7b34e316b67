"""Logistic regression from a tutorial: no module, no optimizer, gradients by hand and one by one."""

import sys
import time

import torch

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
x, y = torch.randn(256, 40), torch.randint(0, 2, (256,)).float()
w, b = torch.zeros(40), torch.zeros(())


def gradient(x, y):
    if FIXED:
        error = torch.sigmoid(x @ w + b) - y
        return x.T @ error / len(y), error.mean()
    dw, db = torch.zeros(40), torch.zeros(())
    for xi, yi in zip(x, y, strict=True):
        error = torch.sigmoid(xi @ w + b) - yi  # !
        dw += error * xi
        db += error
    return dw / len(y), db / len(y)


steps, start = 120, time.perf_counter()
for _ in range(steps):
    dw, db = gradient(x, y)
    w -= 0.1 * dw
    b -= 0.1 * db
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
