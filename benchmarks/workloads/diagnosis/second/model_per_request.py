"""Answer classification requests with a DistilBERT whose weights sit in a registry."""

import argparse
import time

import torch
from transformers import DistilBertConfig, DistilBertForSequenceClassification


class Registry:
    """Weights by model name."""

    def __init__(self):
        self.configs, self.weights = {}, {}

    def register(self, name, config):
        self.configs[name] = config
        self.weights[name] = DistilBertForSequenceClassification(config).state_dict()

    def model(self, name):
        model = DistilBertForSequenceClassification(self.configs[name])
        model.load_state_dict(self.weights[name])
        return model.eval()


@torch.inference_mode()
def handle(registry, request):
    model = registry.model(request["model"])
    return model(request["ids"]).logits.softmax(-1)


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
    registry = Registry()
    registry.register("topic", DistilBertConfig(vocab_size=3000, dim=192, n_layers=2, n_heads=4, hidden_dim=768, num_labels=8))
    requests = [{"model": "topic", "ids": torch.randint(0, 3000, (8, 64))} for _ in range(8)]
    total, step, start = 0.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        total += handle(registry, requests[step % 8]).amax().item()
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
