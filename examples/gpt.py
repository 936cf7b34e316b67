"""A small GPT: trains on generated text, then writes with it.

What it shows: attention (`scaled_dot_product_attention`), layer norms and
linear layers in training, where matrices are large; then generation one token
at a time without a cache, where they are small and overhead shows.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# The text: sums of small numbers, so that the model has something exact to learn.
TEXT = "".join(f"{a}+{b}={a + b};" for a in range(40) for b in range(40))
ALPHABET = sorted(set(TEXT))


class Block(nn.Module):
    """Causal self-attention and a feed-forward layer, each with a residual."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor) -> Tensor:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, -1).transpose(1, 2)
            for part in self.qkv(self.norm1(x)).split(width, 2)
        )
        h = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(h.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm2(x))


class Gpt(nn.Module):
    """Token and position embeddings, blocks, a linear head."""

    def __init__(self, layers: int, width: int, heads: int, context: int) -> None:
        super().__init__()
        self.context = context
        self.tokens = nn.Embedding(len(ALPHABET), width)
        self.positions = nn.Embedding(context, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, len(ALPHABET))

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tokens(ids) + self.positions(torch.arange(ids.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @torch.inference_mode()
    def generate(self, ids: Tensor, count: int) -> Tensor:
        """Append `count` tokens, always the likeliest one."""
        for _ in range(count):
            likeliest = self(ids[:, -self.context :])[:, -1].argmax(1, keepdim=True)
            ids = torch.cat([ids, likeliest], 1)
        return ids


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=60, help="training steps")
    parser.add_argument("--tokens", type=int, default=32, help="tokens to write at the end")
    parser.add_argument("--layers", type=int, default=4)
    parser.add_argument("--width", type=int, default=128)
    options = parser.parse_args()

    torch.manual_seed(0)
    ids = torch.tensor([ALPHABET.index(letter) for letter in TEXT])
    model = Gpt(options.layers, options.width, heads=4, context=64)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    loss = torch.zeros(())
    for _ in range(options.steps):
        starts = torch.randint(0, len(ids) - 65, (16,)).tolist()
        batch = torch.stack([ids[s : s + 65] for s in starts])
        logits = model(batch[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    written = model.eval().generate(ids[None, :8], options.tokens)[0].tolist()
    text = "".join(ALPHABET[i] for i in written)
    print(f"gpt: {options.steps} steps, loss {loss.item():.3f}, wrote {text}")


if __name__ == "__main__":
    main()
