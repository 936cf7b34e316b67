"""Learn the gain of a fixed long reverberation applied to short clips."""

import argparse
import time

import torch
from torch import nn


class Reverberation(nn.Module):
    """Convolve a signal with the impulse response of a room."""

    def __init__(self, taps=4096):
        super().__init__()
        envelope = torch.exp(-torch.arange(taps) / (taps / 6))
        self.register_buffer("response", torch.randn(taps) * envelope)
        self.gain = nn.Parameter(torch.tensor(0.3))

    def forward(self, dry):
        taps = len(self.response)
        padded = nn.functional.pad(dry[:, None], (taps - 1, 0))
        wet = nn.functional.conv1d(padded, self.response.flip(0)[None, None]).squeeze(1)
        return dry + self.gain * wet


def clips(count, length=12000, size=2):
    generator = torch.Generator().manual_seed(11)
    for _ in range(count):
        yield torch.randn(size, length, generator=generator) * 0.1


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
    room = Reverberation()
    optimizer = torch.optim.Adam(room.parameters(), lr=1e-3, fused=True)
    data = list(clips(5))
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        wet = room(data[step % 5])
        loss = (wet.square().mean() - 0.05).square()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
