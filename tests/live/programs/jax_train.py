"""JAX: a training loop, jitted, until the file named first is there; prints steps and checksum."""

import hashlib
import os
import sys

import jax
import jax.numpy as jnp
import numpy as np

stop, most = sys.argv[1], int(sys.argv[2])


@jax.jit
def step(w, x, y):
    loss, gradient = jax.value_and_grad(lambda v: jnp.mean((jnp.tanh(x @ v) - y) ** 2))(w)
    return w - 0.01 * gradient, loss


key = jax.random.PRNGKey(0)
w, x, y = jnp.zeros((128, 64)), jax.random.normal(key, (256, 128)), jnp.ones((256, 64))
digest, steps = hashlib.sha256(), 0
w, loss = step(w, x, y)
print("ready", flush=True)
while steps < most and not os.path.exists(stop):
    w, loss = step(w, x, y)
    digest.update(np.asarray(loss).tobytes())
    steps += 1
print(steps, digest.hexdigest()[:16], flush=True)
