"""A sentence encoder that pads each batch to the longest sentence there is."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
lengths = torch.randint(20, 50, (64, 8))
embed = nn.Embedding(1000, 64)
encoder = nn.TransformerEncoderLayer(64, 4, 128, dropout=0.0, batch_first=True)
head = nn.Linear(64, 2)
optimizer = torch.optim.SGD([*embed.parameters(), *encoder.parameters(), *head.parameters()], lr=0.01)
labels = torch.randint(0, 2, (8,))


def batch(step):
    own = lengths[step % 64]
    size = int(own.max()) if FIXED else 256
    ids = torch.randint(1, 1000, (8, size))
    return ids, torch.arange(size)[None] >= own[:, None]


steps, start = 60, time.perf_counter()
for step in range(steps):
    ids, padding = batch(step)
    hidden = encoder(embed(ids), src_key_padding_mask=padding)  # !
    loss = nn.functional.cross_entropy(head(hidden[:, 0]), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
