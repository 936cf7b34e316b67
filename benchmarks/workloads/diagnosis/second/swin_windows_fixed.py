"""Inference with a window-attention encoder that has learned relative positions."""

import argparse
import time

import torch
from torch import nn


def relative_index(side):
    rows, columns = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
    points = torch.stack([rows.flatten(), columns.flatten()])
    offset = points[:, :, None] - points[:, None] + side - 1
    return offset[0] * (2 * side - 1) + offset[1]


class WindowAttention(nn.Module):
    def __init__(self, width, heads, side):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.randn((2 * side - 1) ** 2, heads) * 0.02)
        self.register_buffer("index", relative_index(side))
        self.cached = None

    def bias(self):
        picked = self.table[self.index.view(-1)]
        return picked.view(*self.index.shape, self.heads).permute(2, 0, 1).contiguous()

    def forward(self, x):
        query, key, value = self.qkv(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        if self.cached is None:
            self.cached = self.bias()
        bias = self.cached
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias[None])
        return x + self.out(mixed.transpose(1, 2).flatten(2))


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
    encoder = nn.Sequential(*(WindowAttention(64, 4, 20) for _ in range(4))).eval()
    windows = torch.randn(6, 1, 400, 64)
    total, step, start = 0.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        total += encoder(windows[step % 6]).abs().mean().item()
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
