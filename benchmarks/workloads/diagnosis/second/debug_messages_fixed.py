"""Train an autoencoder with log messages for every stage."""

import argparse
import logging
import time

import torch
from torch import nn

logging.basicConfig(level=logging.INFO)
log = logging.getLogger("autoencoder")


class Autoencoder(nn.Module):
    def __init__(self, size=256, code=16):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(size, 128), nn.ReLU(), nn.Linear(128, code))
        self.decoder = nn.Sequential(nn.Linear(code, 128), nn.ReLU(), nn.Linear(128, size))

    def forward(self, x):
        code = self.encoder(x)
        return self.decoder(code), code


class Trainer:
    def __init__(self, model, rate=1e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=rate, fused=True)

    def training_step(self, x):
        rebuilt, code = self.model(x)
        loss = nn.functional.mse_loss(rebuilt, x)
        log.debug("code %s rebuilt %s loss %s", code.detach(), rebuilt.detach(), loss.detach())
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss


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
    trainer = Trainer(Autoencoder())
    data = torch.randn(10, 128, 256)
    log.info("start with %d batches", len(data))
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        loss = trainer.training_step(data[step % 10])
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
