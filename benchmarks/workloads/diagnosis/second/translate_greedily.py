"""Greedy translation with a small encoder-decoder transformer."""

import argparse
import time

import torch
from transformers import T5Config, T5ForConditionalGeneration


class Translator:
    def __init__(self, tokens=12):
        config = T5Config(
            vocab_size=1000, d_model=128, d_kv=32, d_ff=256, num_layers=4, num_decoder_layers=1,
            num_heads=4, decoder_start_token_id=0, pad_token_id=0,
        )
        self.model = T5ForConditionalGeneration(config).eval()
        self.tokens = tokens

    @torch.inference_mode()
    def translate(self, source):
        written = torch.zeros(len(source), 1, dtype=torch.long)
        for _ in range(self.tokens):
            logits = self.model(input_ids=source, decoder_input_ids=written, use_cache=False).logits
            written = torch.cat([written, logits[:, -1].argmax(-1, keepdim=True)], 1)
        return written, logits[:, -1].logsumexp(-1).mean().item()


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
    translator = Translator()
    sources = torch.randint(1, 1000, (5, 4, 96))
    total, step, start = 0, 0, time.perf_counter()
    while unfinished(args, step, start):
        total += translator.translate(sources[step % 5])[1]
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
