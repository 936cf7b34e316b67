"""Logistic regression by Newton's method with conjugate gradients."""

import argparse
import time

import torch


class LogisticObjective:
    def __init__(self, x, y, penalty=1e-2):
        self.x, self.y, self.penalty = x, y, penalty

    def __call__(self, w):
        margin = self.y * (self.x @ w)
        return torch.nn.functional.softplus(-margin).mean() + self.penalty * w.dot(w)


def gradient(objective, w):
    w = w.detach().requires_grad_()
    return torch.autograd.grad(objective(w), w)[0]


def curvature_along(objective, w, direction):
    hessian = torch.autograd.functional.hessian(objective, w)
    return hessian @ direction


def conjugate_gradient(objective, w, right_side, iterations=5):
    solution = torch.zeros_like(right_side)
    residual = right_side.clone()
    direction = residual.clone()
    for _ in range(iterations):
        product = curvature_along(objective, w, direction)
        size = residual.dot(residual) / direction.dot(product)
        solution += size * direction
        updated = residual - size * product
        direction = updated + updated.dot(updated) / residual.dot(residual) * direction
        residual = updated
    return solution


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
    x = torch.randn(3000, 60, dtype=torch.float64)
    y = torch.sign(x @ torch.randn(60, dtype=torch.float64))
    w = torch.zeros(60, dtype=torch.float64)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        rows = torch.arange(step * 500, step * 500 + 1500) % 3000
        objective = LogisticObjective(x[rows], y[rows])
        slope = gradient(objective, w)
        w = w - 0.5 * conjugate_gradient(objective, w, slope)
        step += 1
    report(step, start, objective(w).item())


if __name__ == "__main__":
    main()
