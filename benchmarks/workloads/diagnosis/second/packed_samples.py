"""Train an image classifier on a compressed in-memory archive."""

import argparse
import time
import zlib

import numpy
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Archive:
    """Images stored as compressed bytes with their label."""

    def __init__(self, count, side=64):
        generator = numpy.random.default_rng(0)
        self.side, self.entries = side, []
        for _ in range(count):
            image = generator.integers(0, 24, (3, side, side), dtype=numpy.uint8)
            label = int(generator.integers(0, 4))
            image[:, :, label * 8 : label * 8 + 8] += 40
            self.entries.append((zlib.compress(image.tobytes(), 6), label))

    def decode(self, index):
        packed, label = self.entries[index]
        data = numpy.frombuffer(bytearray(zlib.decompress(packed)), dtype=numpy.uint8)
        return data.reshape(3, self.side, self.side), label


class ArchiveDataset(Dataset):
    def __init__(self, archive):
        self.archive = archive

    def __len__(self):
        return len(self.archive.entries)

    def __getitem__(self, index):
        image, label = self.archive.decode(index)
        return torch.from_numpy(image), label


def endless(loader):
    while True:
        yield from loader


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
    batches = endless(DataLoader(ArchiveDataset(Archive(512)), batch_size=64, shuffle=True))
    model = nn.Sequential(nn.Conv2d(3, 8, 5, stride=4), nn.ReLU(), nn.Flatten(), nn.Linear(8 * 15 * 15, 4))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, fused=True)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        images, labels = next(batches)
        loss = nn.functional.cross_entropy(model(images.float() / 64), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
