"""A bag-of-words classifier that tokenises its texts when it trains on them."""

import random
import re
import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

random.seed(0)
torch.manual_seed(0)
words = ["w" + str(i) for i in range(5000)]
vocabulary = {word: i for i, word in enumerate(words)}
texts = [" ".join(random.choices(words, k=120)) + "!" for _ in range(512)]
labels = torch.randint(0, 4, (512,))


def tokenise(text):
    return [vocabulary[token] for token in re.findall(r"[a-z]\d+", text.lower())]  # !


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.bag = nn.EmbeddingBag(5000, 64)
        self.head = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 4))

    def forward(self, ids):
        return self.head(self.bag(ids))


model = Classifier()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
ready = torch.tensor([tokenise(text) for text in texts]) if FIXED else None
steps, start = 300, time.perf_counter()
for step in range(steps):
    rows = slice(step % 4 * 128, step % 4 * 128 + 128)
    ids = ready[rows] if FIXED else torch.tensor([tokenise(text) for text in texts[rows]])
    loss = nn.functional.cross_entropy(model(ids), labels[rows])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
