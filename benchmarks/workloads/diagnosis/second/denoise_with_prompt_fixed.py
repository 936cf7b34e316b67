"""Sample from a small text-conditioned diffusion model."""

import argparse
import time

import torch
from torch import nn


class PromptEncoder(nn.Module):
    def __init__(self, vocabulary=1000, width=128, layers=2):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        layer = nn.TransformerEncoderLayer(width, 4, 4 * width, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)

    def forward(self, ids):
        return self.encoder(self.embed(ids)).mean(1)


class Denoiser(nn.Module):
    def __init__(self, size=256, width=512, condition=128):
        super().__init__()
        self.read = nn.Linear(size + condition + 1, width)
        self.net = nn.Sequential(nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, size))

    def forward(self, x, time_left, condition):
        moment = torch.full((len(x), 1), time_left)
        return self.net(self.read(torch.cat([x, moment, condition], 1)))


class Sampler:
    def __init__(self, iterations=20):
        self.prompts, self.denoiser = PromptEncoder().eval(), Denoiser().eval()
        self.iterations = iterations

    @torch.inference_mode()
    def sample(self, ids, noise):
        x = noise
        condition = self.prompts(ids)
        for i in range(self.iterations):
            x = x - self.denoiser(x, 1 - i / self.iterations, condition) / self.iterations
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
    sampler = Sampler()
    prompts, noise = torch.randint(0, 1000, (6, 4, 24)), torch.randn(6, 4, 256)
    total, step, start = 0.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        total += sampler.sample(prompts[step % 6], noise[step % 6]).abs().mean().item()
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
