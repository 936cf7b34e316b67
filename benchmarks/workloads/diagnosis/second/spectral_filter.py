"""Filter long sensor records with a learned impulse response in the frequency domain."""

import argparse
import time

import torch
from torch import nn


class ImpulseFilter(nn.Module):
    """A causal convolution by products of spectra."""

    def __init__(self, channels, taps, length):
        super().__init__()
        self.taps = nn.Parameter(torch.randn(channels, taps) / taps**0.5)
        self.length = length
        self.size = length + taps - 1

    def forward(self, x):
        spectrum = torch.fft.rfft(x, n=self.size)
        response = torch.fft.rfft(self.taps, n=self.size)
        return torch.fft.irfft(spectrum * response, n=self.size)[..., : self.length]


class Detector(nn.Module):
    def __init__(self, channels=8, length=29946, taps=66):
        super().__init__()
        self.filter = ImpulseFilter(channels, taps, length)
        self.mix = nn.Linear(channels, 1)

    def forward(self, x):
        energy = self.filter(x).square().mean(-1)
        return self.mix(energy).squeeze(-1)


def records(count, channels, length):
    generator = torch.Generator().manual_seed(3)
    for _ in range(count):
        x = torch.randn(4, channels, length, generator=generator)
        yield x, x[:, 0].square().mean(-1)


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
    model = Detector()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, fused=True)
    data = list(records(6, 8, 29946))
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        x, y = data[step % len(data)]
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
