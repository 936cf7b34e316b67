"""A variational autoencoder on synthetic digits: the program of `make demo`.

What it shows: a training loop as people write it. Time is split between a
convolution (oneDNN), linear layers (BLAS), many small element-wise operators of
the loss, and Adam, whose default form on the CPU updates each parameter apart.
The digits are seven-segment figures drawn by code: nothing is downloaded.
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn
from torch.nn import functional as F

SIDE = 28
# Which of the seven segments (top, top-left, top-right, middle, bottom-left, bottom-right, bottom) are lit.
SEGMENTS = ["1110111", "0010010", "1011101", "1011011", "0111010", "1101011", "1101111", "1010010", "1" * 7]
SEGMENTS.append("1111011")
# Row range, column range of each segment in the 28 x 28 picture.
BARS = [(4, 6, 9, 19), (5, 14, 8, 10), (5, 14, 18, 20), (13, 15, 9, 19), (14, 23, 8, 10), (14, 23, 18, 20)]
BARS.append((22, 24, 9, 19))


def draw_digits(count: int, random: torch.Generator) -> Tensor:
    """`count` pictures of digits, each moved by up to three pixels, with a little noise."""
    clean = torch.zeros(10, SIDE, SIDE)
    for digit, lit in enumerate(SEGMENTS):
        for on, (top, bottom, left, right) in zip(lit, BARS, strict=True):
            clean[digit, top:bottom, left:right] = float(on)
    which = torch.randint(0, 10, (count,), generator=random)
    moves = torch.randint(-3, 4, (count, 2), generator=random).tolist()
    pictures = [torch.roll(clean[d], (dy, dx), (0, 1)) for d, (dy, dx) in zip(which, moves, strict=True)]
    noise = 0.1 * torch.rand(count, SIDE, SIDE, generator=random)
    return (torch.stack(pictures) * 0.9 + noise).unsqueeze(1)


class Encoder(nn.Module):
    """Picture to mean and log-variance of the code."""

    def __init__(self, width: int, code: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 16, 3, stride=2, padding=1)
        self.hidden = nn.Linear(16 * 14 * 14, width)
        self.mean = nn.Linear(width, code)
        self.log_variance = nn.Linear(width, code)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = F.relu(self.hidden(F.relu(self.conv(x)).flatten(1)))
        return self.mean(h), self.log_variance(h)


class Decoder(nn.Module):
    """Code to picture (logits)."""

    def __init__(self, width: int, code: int) -> None:
        super().__init__()
        self.hidden = nn.Linear(code, width)
        self.pixels = nn.Linear(width, SIDE * SIDE)

    def forward(self, z: Tensor) -> Tensor:
        return self.pixels(F.relu(self.hidden(z))).view(-1, 1, SIDE, SIDE)


class Vae(nn.Module):
    """Encoder, reparameterisation, decoder."""

    def __init__(self, width: int = 400, code: int = 20) -> None:
        super().__init__()
        self.encoder = Encoder(width, code)
        self.decoder = Decoder(width, code)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, log_variance = self.encoder(x)
        z = mean + torch.randn_like(mean) * torch.exp(0.5 * log_variance)
        return self.decoder(z), mean, log_variance


def loss_of(logits: Tensor, x: Tensor, mean: Tensor, log_variance: Tensor) -> Tensor:
    """Negative evidence lower bound, per picture."""
    likelihood = F.binary_cross_entropy_with_logits(logits, x, reduction="sum")
    divergence = -0.5 * torch.sum(1 + log_variance - mean.pow(2) - log_variance.exp())
    return (likelihood + divergence) / len(x)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=250, help="training steps (default 250, about 10 s)")
    parser.add_argument("--batch", type=int, default=128, help="pictures per step")
    options = parser.parse_args()

    torch.manual_seed(0)
    random = torch.Generator().manual_seed(0)
    pictures = draw_digits(2048, random)
    model = Vae()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss = torch.zeros(())
    for step in range(options.steps):
        x = pictures[torch.randint(0, len(pictures), (options.batch,), generator=random)]
        loss = loss_of(*_with_input(model, x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 0:
            print(f"step {step:4d}  loss {loss.item():.1f}", flush=True)
    print(f"vae: {options.steps} steps, loss {loss.item():.1f}")


def _with_input(model: Vae, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    logits, mean, log_variance = model(x)
    return logits, x, mean, log_variance


if __name__ == "__main__":
    main()
