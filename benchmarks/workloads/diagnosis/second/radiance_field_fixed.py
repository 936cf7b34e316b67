"""Fit a tiny radiance field to random pixels of posed images."""

import argparse
import time

import torch
from torch import nn


class Camera:
    def __init__(self, height, width, focal):
        self.height, self.width, self.focal = height, width, focal

    def rays(self, rows, columns, pose):
        directions = torch.stack(
            [
                (columns - self.width / 2) / self.focal,
                -(rows - self.height / 2) / self.focal,
                -torch.ones_like(rows),
            ],
            -1,
        )
        directions = directions @ pose[:3, :3].T
        directions = directions / directions.norm(dim=-1, keepdim=True)
        return pose[:3, 3].expand(directions.shape), directions


class Field(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(6, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 3))

    def forward(self, origins, directions):
        return self.net(torch.cat([origins, directions], -1)).sigmoid()


def training_rays(camera, pose, picked):
    rows = torch.div(picked, camera.width, rounding_mode="floor").float()
    return camera.rays(rows, (picked % camera.width).float(), pose)


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
    camera, field = Camera(400, 400, 450.0), Field()
    images = torch.rand(4, 400 * 400, 3)
    poses = torch.eye(4).repeat(4, 1, 1) + 0.1 * torch.randn(4, 4, 4)
    optimizer = torch.optim.Adam(field.parameters(), lr=1e-3, fused=True)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        view = step % 4
        picked = torch.randint(0, 400 * 400, (1024,))
        loss = nn.functional.mse_loss(field(*training_rays(camera, poses[view], picked)), images[view][picked])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
