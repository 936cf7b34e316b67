"""Classify noisy product reviews with a bag of hashed words."""

import argparse
import random
import re
import time
import zlib

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

RULES = [
    (r"<[^>]+>", " "),
    (r"https?://\S+", " url "),
    (r"[\w.]+@[\w.]+", " mail "),
    (r"(\d+[.,]?)+", " number "),
    (r"(.)\1{2,}", r"\1\1"),
    (r"[^a-z ]+", " "),
    (r"\s+", " "),
]


def write_reviews(count, seed=0):
    draw = random.Random(seed)
    words = ["great", "<b>bad</b>", "soooo", "price 12.50", "see http://shop.example/x", "me@mail.example", "box", "fine!!!"]
    for _ in range(count):
        text = " ".join(draw.choice(words) for _ in range(60))
        yield text, float(text.count("great") > text.count("bad"))


class Reviews(Dataset):
    def __init__(self, reviews, buckets=5000, length=80):
        self.buckets, self.length = buckets, length
        self.reviews = [(self.encode(text), label) for text, label in reviews]

    def __len__(self):
        return len(self.reviews)

    def clean(self, text):
        text = text.lower()
        for pattern, replacement in RULES:
            text = re.sub(pattern, replacement, text)
        return text.split()

    def encode(self, text):
        ids = [zlib.crc32(word.encode()) % self.buckets for word in self.clean(text)]
        return torch.tensor((ids + [0] * self.length)[: self.length])

    def __getitem__(self, index):
        text, label = self.reviews[index]
        return text, label


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
    batches = endless(DataLoader(Reviews(write_reviews(640)), batch_size=64, shuffle=True))
    model = nn.Sequential(nn.EmbeddingBag(5000, 64), nn.Linear(64, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, fused=True)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        ids, labels = next(batches)
        loss = nn.functional.binary_cross_entropy_with_logits(model(ids).squeeze(-1), labels.float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
