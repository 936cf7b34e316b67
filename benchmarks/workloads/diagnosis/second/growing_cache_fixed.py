"""Decode long sequences with an attention layer that keeps keys and values."""

import argparse
import time

import torch
from torch import nn


class Cache:
    def __init__(self, batch, heads, size, limit):
        self.key_buffer = torch.empty(batch, heads, limit, size)
        self.value_buffer = torch.empty(batch, heads, limit, size)
        self.length = 0

    def append(self, key, value):
        end = self.length + key.shape[2]
        self.key_buffer[:, :, self.length : end] = key
        self.value_buffer[:, :, self.length : end] = value
        self.length = end
        return self.key_buffer[:, :, :end], self.value_buffer[:, :, :end]


class DecoderLayer(nn.Module):
    def __init__(self, width=256, heads=8):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x, cache):
        query, key, value = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        keys, values = cache.append(key, value)
        mixed = nn.functional.scaled_dot_product_attention(query, keys, values)
        return torch.tanh(x + self.out(mixed.transpose(1, 2).flatten(2)))


@torch.inference_mode()
def decode(layer, x, tokens):
    cache = Cache(len(x), layer.heads, x.shape[-1] // layer.heads, tokens)
    for _ in range(tokens):
        x = layer(x, cache)
    return x


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

def main():
    args = parse_args()
    torch.manual_seed(0)
    layer, starts = DecoderLayer().eval(), torch.randn(6, 16, 1, 256)
    total, step, start = 0.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        total += decode(layer, starts[step % 6], 400).abs().mean().item()
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
