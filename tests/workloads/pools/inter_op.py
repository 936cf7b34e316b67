"""Two tasks of the inter-op pool, launched by one line. usage: inter_op.py CPU_SECONDS"""

import sys
import time

import torch

torch.set_num_threads(1)
torch.set_num_interop_threads(2)


@torch.jit.script
def part(x, n: int):
    for _i in range(n):
        x = torch.tanh(torch.mm(x, x))
    return x


@torch.jit.script
def both(x):
    a = torch.jit.fork(part, x, 20)
    b = torch.jit.fork(part, x + 1, 20)
    return torch.jit.wait(a) + torch.jit.wait(b)


def launcher(x):
    return both(x)


x = torch.randn(128, 128)
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    launcher(x)
time.sleep(0.5)  # torch ends with std::terminate now and then when its pool is still busy at exit
