"""The same perceptron in MXNet 1.9.1 (Gluon): another framework, the same views.

What it shows: MXNet runs operators on its own engine threads, so the Python
thread only queues them and waits at `asnumpy`. Its oneDNN is version 2: record
the primitives with DNNL_VERBOSE=1 (ONEDNN_VERBOSE is ignored).
Needs: pip install mxnet==1.9.1 "numpy<1.24"   (Python 3.8 to 3.11)
"""

from __future__ import annotations

import argparse

import mxnet as mx
from mxnet import autograd, gluon


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=100, help="training steps")
    parser.add_argument("--batch", type=int, default=128, help="rows per step")
    parser.add_argument("--hybridize", action="store_true", help="run as a graph instead of op by op")
    options = parser.parse_args()

    mx.random.seed(0)
    x = mx.nd.random.normal(shape=(4096, 784))
    y = mx.nd.dot(x, mx.nd.random.normal(shape=(784, 10))).argmax(axis=1)
    model = gluon.nn.HybridSequential()
    model.add(gluon.nn.Dense(512, "relu"), gluon.nn.Dense(256, "relu"), gluon.nn.Dense(10))
    model.initialize(mx.init.Xavier())
    if options.hybridize:
        model.hybridize()
    trainer = gluon.Trainer(model.collect_params(), "sgd", {"learning_rate": 0.1})
    cross_entropy = gluon.loss.SoftmaxCrossEntropyLoss()
    loss = mx.nd.zeros((1,))
    for step in range(options.steps):
        start = step * options.batch % 4096
        with autograd.record():
            loss = cross_entropy(model(x[start : start + options.batch]), y[start : start + options.batch])
        loss.backward()
        trainer.step(options.batch)
    print(f"mxnet_mlp: {options.steps} steps, loss {float(loss.mean().asscalar()):.3f}")


if __name__ == "__main__":
    main()
