"""Node classification with graph convolutions on a citation graph."""

import argparse
import time

import torch
from torch import nn


def citation_graph(nodes, degree, seed=4):
    generator = torch.Generator().manual_seed(seed)
    rows = torch.arange(nodes).repeat_interleave(degree)
    columns = torch.randint(0, nodes, (nodes * degree,), generator=generator)
    edges = torch.stack([torch.cat([rows, columns]), torch.cat([columns, rows])])
    adjacency = torch.sparse_coo_tensor(edges, torch.ones(edges.shape[1]), (nodes, nodes)).coalesce()
    count = torch.zeros(nodes).index_add(0, adjacency.indices()[0], adjacency.values())
    values = adjacency.values() / count[adjacency.indices()[0]]
    normal = torch.sparse_coo_tensor(adjacency.indices(), values, (nodes, nodes))
    return normal.to_dense()


class GraphConvolution(nn.Module):
    def __init__(self, features_in, features_out):
        super().__init__()
        self.linear = nn.Linear(features_in, features_out)

    def forward(self, adjacency, x):
        return adjacency @ self.linear(x)


class GraphNetwork(nn.Module):
    def __init__(self, features=128, width=128, classes=7):
        super().__init__()
        self.first = GraphConvolution(features, width)
        self.second = GraphConvolution(width, classes)

    def forward(self, adjacency, x):
        return self.second(adjacency, torch.relu(self.first(adjacency, x)))


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

@torch.inference_mode()
def main():
    args = parse_args()
    torch.manual_seed(0)
    adjacency = citation_graph(2000, 5)
    model = GraphNetwork().eval()
    snapshots = torch.randn(6, 2000, 128)
    total, step, start = 0.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        logits = model(adjacency, snapshots[step % 6])
        total += logits.logsumexp(1).mean().item()
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
