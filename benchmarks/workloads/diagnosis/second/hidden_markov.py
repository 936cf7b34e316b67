"""Fit a hidden Markov model to symbol sequences by gradient descent."""

import argparse
import time

import torch


class HiddenMarkovModel:
    def __init__(self, states=12, symbols=20):
        self.initial = torch.zeros(states, requires_grad=True)
        self.transition = torch.randn(states, states).requires_grad_()
        self.emission = torch.randn(states, symbols).requires_grad_()

    def parameters(self):
        return [self.initial, self.transition, self.emission]

    def log_likelihood(self, sequences):
        transition = self.transition.log_softmax(1)
        emission = self.emission.log_softmax(1)
        alpha = self.initial.log_softmax(0) + emission[:, sequences[:, 0]].T
        for t in range(1, sequences.shape[1]):
            seen = emission[:, sequences[:, t]].T
            following = []
            for state in range(len(transition)):
                reached = torch.logsumexp(alpha + transition[:, state], dim=1)
                following.append(reached + seen[:, state])
            alpha = torch.stack(following, 1)
        return torch.logsumexp(alpha, 1)


def sequences(count, length, symbols):
    generator = torch.Generator().manual_seed(2)
    walk = torch.randint(0, 3, (count, length), generator=generator).cumsum(1)
    return walk % symbols


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
    model = HiddenMarkovModel()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05, fused=True)
    data = sequences(320, 16, 20)
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        rows = slice(step % 10 * 32, step % 10 * 32 + 32)
        loss = -model.log_likelihood(data[rows]).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
    report(step, start, loss.item())


if __name__ == "__main__":
    main()
