"""An image classifier with an augmentation written as loops over pixels."""

import random
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv


def brighten(image, rng):
    """Adds a random brightness to every row."""
    out = image.clone()
    for row in range(image.shape[1]):
        for column in range(0, image.shape[2], 8):
            out[:, row, column : column + 8] = image[:, row, column : column + 8] * rng.uniform(0.9, 1.1)  # !
    return out


def brighten_at_once(image, rng):
    factors = torch.empty(1, image.shape[1], image.shape[2] // 8).uniform_(0.9, 1.1)
    return image * factors.repeat_interleave(8, 2)


rng = random.Random(0)
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3, stride=2), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 15 * 15, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
images, labels = torch.rand(8, 3, 32, 32), torch.randint(0, 10, (8,))
steps, start = 60, time.perf_counter()
for _ in range(steps):
    augment = brighten_at_once if FIXED else brighten
    batch = torch.stack([augment(image, rng) for image in images])
    loss = nn.functional.cross_entropy(model(batch), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
