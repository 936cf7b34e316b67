"""Differentially private training: clip the gradient of each sample, add noise."""

import argparse
import time

import torch
from torch import nn
from torch.func import functional_call, grad, vmap


class Scorer(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 64), nn.Tanh(), nn.Linear(64, 2))

    def forward(self, x):
        return self.net(x)


class PrivateTrainer:
    def __init__(self, model, bound=1.0, noise=0.01, rate=0.1):
        self.model, self.bound, self.noise, self.rate = model, bound, noise, rate
        self.parameters = dict(model.named_parameters())

    def sample_loss(self, parameters, x, y):
        logits = functional_call(self.model, parameters, (x[None],))
        return nn.functional.cross_entropy(logits, y[None])

    def clipped_gradients(self, x, y):
        detached = {name: p.detach() for name, p in self.parameters.items()}
        gradients = vmap(grad(self.sample_loss), in_dims=(None, 0, 0))(detached, x, y)
        flat = torch.cat([g.flatten(1) for g in gradients.values()], 1)
        factor = (self.bound / flat.norm(dim=1, keepdim=True)).clamp_max(1.0)
        return (flat * factor).mean(0)

    @torch.no_grad()
    def descend(self, flat):
        flat = flat + self.noise * torch.randn_like(flat)
        sizes = [p.numel() for p in self.parameters.values()]
        for p, g in zip(self.parameters.values(), flat.split(sizes)):
            p.sub_(g.view_as(p), alpha=self.rate)


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
    trainer = PrivateTrainer(Scorer())
    x, y = torch.randn(640, 32), torch.randint(0, 2, (640,))
    step, start, total = 0, time.perf_counter(), 0.0
    while unfinished(args, step, start):
        rows = slice(step % 10 * 64, step % 10 * 64 + 64)
        gradient = trainer.clipped_gradients(x[rows], y[rows])
        trainer.descend(gradient)
        total += gradient.norm().item()
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
