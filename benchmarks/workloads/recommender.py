"""A recommender's training loop: embedding tables with dense gradients, Adagrad, one thread, 100 steps.

Each step takes and gives back some 70 MB in blocks of 1 to 5 MB: below glibc's limit for blocks of their own, above the
one at which it gives the top of its heap back. So how many fresh pages a step touches depends on what else lies there.
"""

from __future__ import annotations

import sys

import torch
from torch import nn

ROWS = (19_000, 19_000, 16_000, 15_000, 12_000, 9_000, 6_000, 3_000)
WIDTH, BATCH = 64, 512


class Recommender(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, WIDTH) for rows in ROWS)
        self.top = nn.Sequential(nn.Linear(WIDTH * len(ROWS), 256), nn.ReLU(), nn.Linear(256, 1))

    def forward(self, ids: list[torch.Tensor]) -> torch.Tensor:
        found = [table(i) for table, i in zip(self.tables, ids, strict=True)]
        answer: torch.Tensor = self.top(torch.cat(found, 1))
        return answer


def main(steps: int) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Recommender()
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.01)
    for _ in range(steps):
        ids = [torch.randint(0, rows, (BATCH,)) for rows in ROWS]
        wanted = torch.rand(BATCH, 1)
        optimizer.zero_grad()
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids), wanted)
        loss.backward()
        optimizer.step()
    print(f"recommender: {steps} steps, loss {loss.item():.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
