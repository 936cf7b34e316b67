"""Complete prompts with a small GPT-2, sampling greedily."""

import argparse
import time

import torch
from transformers import GPT2Config, GPT2LMHeadModel


class Completer:
    def __init__(self, tokens=24):
        config = GPT2Config(vocab_size=1000, n_positions=256, n_embd=128, n_layer=3, n_head=4, bos_token_id=0, eos_token_id=0)
        self.model = GPT2LMHeadModel(config).eval()
        self.tokens = tokens

    @torch.inference_mode()
    def complete(self, prompt):
        ids = prompt
        fresh, past = ids, None
        for _ in range(self.tokens):
            result = self.model(fresh, past_key_values=past, use_cache=True, logits_to_keep=1)
            fresh, past = result.logits[:, -1].argmax(-1, keepdim=True), result.past_key_values
            ids = torch.cat([ids, fresh], 1)
        return ids


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
    completer = Completer()
    prompts = torch.randint(1, 1000, (5, 4, 96))
    total, step, start = 0, 0, time.perf_counter()
    while unfinished(args, step, start):
        total += completer.complete(prompts[step % 5]).sum().item()
        step += 1
    report(step, start, total / step)


if __name__ == "__main__":
    main()
