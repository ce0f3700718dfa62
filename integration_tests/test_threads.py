# SPDX-License-Identifier: Apache-2.0
"""Concurrent first uses: lazily loaded modules are loaded once and completely."""

from __future__ import annotations

import subprocess
import sys

import pytest

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


# One thread compiles for seconds; once XLA has its program, another compiles small ones.
COMPILATIONS = """
import threading

import olympus
import olympus.numpy as jnp

lowered = threading.Event()


def note(event, duration, **keywords):
    if "mlir_module" in event and keywords.get("fun_name") == "jit(large)":
        lowered.set()


def blocks(x):
    for width in range(60, 68):  # of different shapes: none repeats
        x = jnp.tanh(jnp.ones((width, x.size)) @ x) * jnp.sum(jnp.sin(x))
    return x.sum()


def large(x):
    y = olympus.hessian(blocks)(x)
    return olympus.pure_callback(lambda y: y, olympus.typeof(y), y) if CALLBACK else y


def small(x):
    return jnp.sin(x) + count


olympus.monitoring.register_event_duration_secs_listener(note)
thread = threading.Thread(target=lambda: olympus.jit(large)(jnp.ones(4)))
thread.start()
lowered.wait()
count = 0
while thread.is_alive():
    olympus.jit(lambda x: small(x))(1.0)
    count += thread.is_alive()
thread.join()
print(count)
"""


def run(program):
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_first_uses_from_many_threads():
    assert run(PROGRAM) == ["done"]


@pytest.mark.thorough("False")
@pytest.mark.parametrize("callback", [False, True])
def test_compilations_run_concurrently(callback):
    (count,) = run(f"CALLBACK = {callback}\n{COMPILATIONS}")
    # One after the other would be none, or one that came before.
    assert int(count) >= 3
