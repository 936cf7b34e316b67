"""An embedding-search service: requests carry query vectors as messages."""

import argparse
import base64
import json
import time

import numpy
import torch


class SearchIndex:
    def __init__(self, vectors):
        self.vectors = torch.nn.functional.normalize(vectors, dim=1)

    @torch.inference_mode()
    def nearest(self, queries, count=5):
        return (queries @ self.vectors.T).topk(count, dim=1)


def encode(queries):
    """What the client sends."""
    return json.dumps({"queries": queries.tolist()})


def decode(message):
    request = json.loads(message)
    return torch.tensor(request["queries"])


class Service:
    def __init__(self, index):
        self.index = index
        self.served = 0

    def handle(self, message):
        queries = decode(message)
        scores, numbers = self.index.nearest(queries)
        self.served += len(queries)
        return {"best": numbers[:, 0].tolist(), "score": scores[:, 0].mean().item()}


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
    service = Service(SearchIndex(torch.randn(4000, 256)))
    messages = [encode(torch.randn(64, 256)) for _ in range(8)]
    total, step, start = 0.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        answer = service.handle(messages[step % len(messages)])
        total += answer["score"]
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
