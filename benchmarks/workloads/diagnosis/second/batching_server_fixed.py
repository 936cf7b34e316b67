"""A micro-batching inference server with closed-loop clients in threads."""

import argparse
import queue
import threading
import time

import torch
from torch import nn


class Server:
    def __init__(self, model, batch=8, window=0.012):
        self.model, self.batch, self.window = model, batch, window
        self.requests = queue.Queue()

    def submit(self, x):
        answer = queue.Queue(1)
        self.requests.put((x, answer))
        return answer

    def collect(self):
        found = [self.requests.get()]
        end = time.perf_counter() + self.window
        while len(found) < self.batch:
            try:
                found.append(self.requests.get(timeout=max(0.0, end - time.perf_counter())))
            except queue.Empty:
                break
        return found

    @torch.inference_mode()
    def serve_batch(self):
        found = self.collect()
        results = self.model(torch.stack([x for x, _ in found]))
        for result, (_, answer) in zip(results, found):
            answer.put(result.item())
        return len(found)


class Client(threading.Thread):
    def __init__(self, server, number):
        super().__init__(daemon=True)
        self.server = server
        self.x = torch.randn(512, generator=torch.Generator().manual_seed(number))
        self.answer = 0.0

    def run(self):
        while True:
            self.answer = self.server.submit(self.x).get()


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
    model = nn.Sequential(nn.Linear(512, 2048), nn.ReLU(), nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 1)).eval()
    server = Server(model)
    clients = [Client(server, number) for number in range(8)]
    for client in clients:
        client.start()
    step, start = 0, time.perf_counter()
    while unfinished(args, step, start):
        server.serve_batch()
        step += 1
    report(step, start, clients[0].answer)


if __name__ == "__main__":
    main()
