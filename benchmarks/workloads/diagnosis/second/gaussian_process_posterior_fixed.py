"""Screen candidate settings with the expected improvement of a Gaussian process."""

import argparse
import math
import time

import torch


class GaussianProcess:
    def __init__(self, x, y, length_scale=1.5, noise=1e-2):
        self.x, self.y = x, y
        self.length_scale, self.noise = length_scale, noise
        gram = self.kernel(x, x) + noise * torch.eye(len(x), dtype=x.dtype)
        self.factor = torch.linalg.cholesky(gram)
        self.weights = torch.cholesky_solve(y[:, None], self.factor)

    def kernel(self, a, b):
        return torch.exp(-0.5 * torch.cdist(a, b).square() / self.length_scale**2)

    def posterior(self, candidates):
        cross = self.kernel(candidates, self.x)
        mean = (cross @ self.weights).squeeze(-1)
        half = torch.linalg.solve_triangular(self.factor, cross.T, upper=False)
        variance = 1 - half.square().sum(0)
        return mean, variance.clamp_min(1e-9).sqrt()


def expected_improvement(mean, deviation, best):
    z = (mean - best) / deviation
    density = torch.exp(-0.5 * z.square()) / math.sqrt(2 * math.pi)
    return deviation * (z * torch.special.ndtr(z) + density)


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
    x = torch.rand(700, 6, dtype=torch.float64) * 4
    y = torch.sin(x).sum(1) + 0.1 * torch.randn(700, dtype=torch.float64)
    process = GaussianProcess(x, y)
    generator = torch.Generator().manual_seed(1)
    best, step, start = 0.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        candidates = torch.rand(128, 6, dtype=torch.float64, generator=generator) * 4
        mean, deviation = process.posterior(candidates)
        scores = expected_improvement(mean, deviation, y.max())
        best = max(best, scores.max().item())
        step += 1
    report(step, start, best)


if __name__ == "__main__":
    main()
