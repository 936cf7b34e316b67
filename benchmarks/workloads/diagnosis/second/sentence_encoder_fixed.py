"""Classify sentences from the first token of a small transformer."""

import argparse
import time

import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query, self.key_value = nn.Linear(width, width), nn.Linear(width, 2 * width)
        self.out = nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def split(self, x):
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def forward(self, x, positions=None):
        normal = self.norm1(x)
        key, value = self.key_value(normal).chunk(2, -1)
        if positions is not None:
            x, normal = x[:, positions], normal[:, positions]
        mixed = nn.functional.scaled_dot_product_attention(
            self.split(self.query(normal)), self.split(key), self.split(value)
        )
        x = x + self.out(mixed.transpose(1, 2).flatten(2))
        return x + self.mlp(self.norm2(x))


class Classifier(nn.Module):
    def __init__(self, vocabulary=4000, width=192, layers=2, length=64, classes=5):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.position = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, 4) for _ in range(layers))
        self.head = nn.Linear(width, classes)

    def forward(self, ids):
        x = self.embed(ids) + self.position
        for block in self.blocks[:-1]:
            x = block(x)
        x = self.blocks[-1](x, positions=slice(0, 1))
        return self.head(x[:, 0])


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="run for this long")
    parser.add_argument("--steps", type=int, default=0, help="or for this many steps")
    return parser.parse_args()


def unfinished(args, step, start):
    if args.steps:
        return step < args.steps
    return time.perf_counter() - start < args.seconds


def report(step, start, value):
    seconds = time.perf_counter() - start
    print(f"steps {step} seconds {seconds:.3f} checksum {value:.6g}")

@torch.inference_mode()
def main():
    args = parse_args()
    torch.manual_seed(0)
    model = Classifier().eval()
    sentences = torch.randint(0, 4000, (10, 32, 64))
    total, step, start = 0.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        total += model(sentences[step % 10]).softmax(-1).amax(-1).mean().item()
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
