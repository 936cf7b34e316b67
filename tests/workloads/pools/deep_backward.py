"""Backward inside backward, deeper than torch allows on one thread. usage: deep_backward.py CPU_SECONDS"""

import sys
import time

import torch

torch.set_num_threads(1)


class Deep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, depth):
        ctx.depth = depth
        ctx.save_for_backward(x.detach())
        return x * 1.0

    @staticmethod
    def backward(ctx, g):
        (x,) = ctx.saved_tensors
        with torch.enable_grad():
            y = x.detach().requires_grad_()
            z = torch.tanh(torch.mm(y, y))
            if ctx.depth:
                z = Deep.apply(z, ctx.depth - 1)
            z.sum().backward()
        return y.grad, None


def caller(x):
    Deep.apply(x, 90).sum().backward()


x = torch.randn(128, 128, requires_grad=True)
end = time.process_time() + float(sys.argv[1])
while time.process_time() < end:
    caller(x)
