"""A sequence decoder that sorts all candidates of its vocabulary in Python."""

import sys
import time

import torch
from torch import nn

FIXED = "--fixed" in sys.argv

torch.manual_seed(0)
cell, embed, head = nn.GRUCell(64, 128), nn.Embedding(4000, 64), nn.Linear(128, 4000)
beams, steps = 4, 200
start = time.perf_counter()
with torch.inference_mode():
    tokens, state, scores = torch.zeros(beams, dtype=torch.long), torch.zeros(beams, 128), torch.zeros(beams)
    for _ in range(steps):
        state = cell(embed(tokens), state)
        log_p = scores[:, None] + head(state).log_softmax(-1)
        if FIXED:
            top = log_p.flatten().topk(beams)
            scores, flat = top.values, top.indices
        else:
            candidates = [(s, i) for i, s in enumerate(log_p.flatten().tolist())]
            candidates.sort(key=lambda c: -c[0])  # !
            scores = torch.tensor([c[0] for c in candidates[:beams]])
            flat = torch.tensor([c[1] for c in candidates[:beams]])
        state, tokens = state[flat // 4000], flat % 4000
print(f"{steps} steps {time.perf_counter() - start:.3f} s")
