# SPDX-License-Identifier: Apache-2.0
"""Many threads at once: what loads with its first use is loaded once, and whole."""

from __future__ import annotations

import subprocess
import sys

# In a process of its own, in which nothing has been used yet.
PROGRAM = """
import concurrent.futures
import sys
import threading

import numpy as np

import olympus
import olympus.numpy as jnp
from olympus import lax, random

sys.setswitchinterval(1e-6)
x = np.linspace(0.1, 1, 12, dtype=np.float32).reshape(3, 4)

TASKS = [
    lambda: olympus.vmap(olympus.grad(lambda r: jnp.linalg.norm(r) * jnp.tanh(r[0])))(x),
    lambda: olympus.hessian(lambda r: jnp.prod(r) ** 2)(x[0]),
    lambda: olympus.jit(olympus.grad(lambda a: jnp.sum(jnp.sin(a) @ a.T)))(x),
    lambda: lax.scan(lambda c, r: (c + r.sum(), c), 0.0, x)[1],
    lambda: jnp.fft.fft(x).real,
    lambda: olympus.grad(lambda a: jnp.linalg.cholesky(a @ a.T + jnp.eye(3)).sum())(x),
    lambda: lax.conv(x[None, None], x[None, None, :2, :2], (1, 1), "SAME"),
    lambda: random.normal(random.key(0), (3,)),
    lambda: jnp.asarray(x).at[1:, jnp.array([0, 2])].add(3.0)[:, ::2],
    lambda: jnp.polyfit(x[0], x[1], 2),
    lambda: olympus.jit(
        lambda a: olympus.pure_callback(np.sin, olympus.ShapeDtypeStruct(a.shape, a.dtype), a)
    )(x),
    lambda: jnp.percentile(x, 30.0),
]
start = threading.Barrier(8)


def run(number):
    if number < 8:
        start.wait()
    return np.asarray(TASKS[number % len(TASKS)]())


with concurrent.futures.ThreadPoolExecutor(8) as threads:
    results = list(threads.map(run, range(2 * len(TASKS))))
for number, result in enumerate(results):
    np.testing.assert_allclose(result, TASKS[number % len(TASKS)](), rtol=1e-4, atol=1e-5)
print("done")
"""


def test_first_uses_from_many_threads():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["done"]
