"""A GPT-like model, kept as source for the report's Source view. The tests do not run it."""

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        hidden = self.up(x)
        hidden = torch.nn.functional.gelu(hidden)
        return x + self.down(hidden)


class GPT(nn.Module):
    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.embed = nn.Embedding(50257, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(layers))
        self.head = nn.Linear(width, 50257)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens)
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def log_metrics(step: int, loss: float) -> None:
    if step % 10 == 0:
        print(f"step {step} loss {loss:.3f}")


def train(steps: int = 24) -> None:
    model = GPT(4, 1024)
    optimizer = torch.optim.AdamW(model.parameters())
    tokens = torch.randint(0, 50257, (8, 65))
    for step in range(steps):
        logits = model(tokens[:, :-1])
        loss = nn.functional.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        loss.backward()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        log_metrics(step, loss.item())


if __name__ == "__main__":
    torch.manual_seed(0)
    train()
