"""Sentence vectors from a BERT encoder, pooled over the tokens."""

import argparse
import time

import torch
from transformers import BertConfig, BertModel


class SentenceEncoder:
    def __init__(self):
        config = BertConfig(
            vocab_size=2000, hidden_size=128, num_hidden_layers=3, num_attention_heads=8,
            intermediate_size=256, max_position_embeddings=512,
            attn_implementation="sdpa",
        )
        self.model = BertModel(config).eval()

    @torch.inference_mode()
    def sentence_vectors(self, ids):
        result = self.model(ids, return_dict=True)
        return result.last_hidden_state.mean(1)


def documents(count, length=384, size=8):
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(0, 2000, (size, length), generator=generator) for _ in range(count)]


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
    encoder = SentenceEncoder()
    batches = documents(6)
    total, step, start = 0.0, 0, time.perf_counter()
    while unfinished(args, step, start):
        vectors = encoder.sentence_vectors(batches[step % len(batches)])
        total += vectors.abs().mean().item()
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
