# SPDX-License-Identifier: Apache-2.0
"""First use: operations that a new process calls for the first time, one after the other."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from .fresh_processes import caching_in, times_of
from .workloads import workload

# Expressions of small arrays. NumPy evaluates most of them exactly as XLA does; the last differ.
OPERATIONS = """
    x+x; x-x; x*x; x/(x*x); x*2; x+1; x>3; x==x; x<=x; -x; abs(x); x[1]; x[1:,::2]; x[-1,2];
    x[i[:2]]; x[x.shape[0]-1]; x.T; x.reshape(4,3); x.ravel(); jnp.sort(x); jnp.argsort(x);
    jnp.argmax(x,1); x.max(); x.min(0); jnp.where(x>3,x,0.); jnp.concatenate([x,x]);
    jnp.stack([x,x],1); jnp.hstack([x,x]); jnp.zeros((3,5)); jnp.ones(7); jnp.eye(3);
    jnp.full((2,),3); jnp.arange(9); jnp.roll(x,1); jnp.flip(x,0); jnp.tile(x,(2,1));
    jnp.repeat(i,2); jnp.take(x,i[:2],axis=1); x.at[1].set(0.); i.at[0].add(3);
    jnp.clip(x,1,5); jnp.maximum(x,2.); jnp.minimum(x,x); jnp.floor(x); jnp.ceil(x);
    jnp.round(x); jnp.sign(x); jnp.sqrt(x); i+i; i*i; i//2; i%3; i<<1; i&3; i.sum(); i.prod();
    jnp.cumsum(i); jnp.isnan(x); jnp.isfinite(x); b.any(); b.all(); ~b; x.astype(jnp.int32);
    i.astype(jnp.float32); jnp.pad(x,1); jnp.diag(i); jnp.tril(x); jnp.triu(x);
    jnp.squeeze(x[None]); jnp.expand_dims(x,0); jnp.broadcast_to(x,(2,3,4));
    jnp.swapaxes(x,0,1); jnp.moveaxis(x,0,1); jnp.searchsorted(i,3); jnp.bincount(i,length=5);
    jnp.unique(i,size=5); jnp.logical_and(b,b); jnp.outer(i,i); jnp.dot(i,i); jnp.ptp(x);
    random.split(random.key(0)); random.bits(random.key(1),(3,));
    random.key_data(random.key(2)); lax.top_k(x,2); jnp.diff(x); jnp.meshgrid(i,i);
    jnp.count_nonzero(i); nn.relu(x); nn.one_hot(i,5); jnp.square(x);
    jnp.exp(x); jnp.sin(x); x.sum(); x.mean(0); x@x.T; jnp.tanh(x); jnp.log1p(x); x.var();
    random.normal(random.key(3),(4,)); random.uniform(random.key(4),(4,)); nn.softmax(x);
    jnp.linalg.norm(x); jnp.linspace(0,1,5); nn.gelu(x); jnp.cumsum(x); x**1.5
"""

# The time excludes imports and the first array, which have separate benchmarks.
_PROGRAM = """
import sys, time, importlib
import numpy as np
name, level, operations = sys.argv[1:]
top = importlib.import_module(name)
jnp, lax, nn, random = (
    importlib.import_module(f"{name}.{part}") for part in ("numpy", "lax", "nn", "random")
)
if name == "olympus":
    top.config.update("olympus_cold_evaluation", level)
x, i = (
    jnp.asarray(array)
    for array in (np.arange(12, dtype=np.float32).reshape(3, 4), np.arange(5, dtype=np.int32))
)
b = jnp.asarray(np.arange(5) > 2)
top.block_until_ready((x, i, b))
started, wall = time.process_time(), time.perf_counter()
for operation in operations.split(";"):
    top.block_until_ready(eval(operation.strip()))
print(time.process_time() - started, time.perf_counter() - wall)
"""


def _in_fresh_process(name: str, level: str, **variables: str) -> tuple[float, float]:
    """Returns the processor and wall time of the operations in a separate process."""
    return times_of(_PROGRAM, name, level, OPERATIONS, **variables)


@workload("first calls of 106 operations", "first use", quantity="seconds")
def _(lib: Any) -> Callable:
    return lambda: _in_fresh_process(lib.name, "exact")


@workload("first calls of 106 operations, close", "first use", quantity="seconds")
def _(lib: Any) -> Callable:
    return lambda: _in_fresh_process(lib.name, "close")


@workload("first calls of 106 operations, second process", "first use", quantity="seconds")
def _(lib: Any) -> Callable:
    def run() -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as folder:
            variables = caching_in(folder)
            _in_fresh_process(lib.name, "exact", **variables)
            return _in_fresh_process(lib.name, "exact", **variables)

    return run


# ---- tiers ----

# 200 small jitted functions, each called once, as in a test suite.
_SUITE = """
import sys, time, importlib
import numpy as np
name = sys.argv[1]
top = importlib.import_module(name)
jnp, lax, nn = (importlib.import_module(f"{name}.{part}") for part in ("numpy", "lax", "nn"))
if name == "olympus":
    top.config.update("olympus_tiers", True)
functions = [
    lambda x: jnp.sin(x) * 2 + x,
    lambda x: nn.softmax(x),
    lambda x: (x @ x.T).sum(),
    lambda x: jnp.where(x > 0, x, -x).mean(0),
    lambda x: top.grad(lambda y: jnp.sum(jnp.tanh(y) ** 2))(x),
    lambda x: top.vmap(lambda row: row / jnp.linalg.norm(row))(x),
    lambda x: jnp.cumsum(x, 1),
    lambda x: lax.fori_loop(0, 3, lambda i, y: y * 0.5 + x, x),
    lambda x: lax.scan(lambda c, row: (c + row, c * row), jnp.zeros(x.shape[1]), x)[1],
    lambda x: jnp.sort(x, 1),
]
rng = np.random.default_rng(0)
started, wall = time.process_time(), time.perf_counter()
for number in range(20):
    x = rng.normal(size=(2 + number, 3 + number % 7)).astype(np.float32)
    for function in functions:
        top.block_until_ready(top.jit(lambda x: function(x) + number)(x))
print(time.process_time() - started, time.perf_counter() - wall)
"""

# The gradient of 24 recurrent steps, until its first result is computed.
_UNROLLED = """
import sys, time, importlib
import numpy as np
name = sys.argv[1]
top = importlib.import_module(name)
jnp, nn = (importlib.import_module(f"{name}.{part}") for part in ("numpy", "nn"))
def f(w, u, b, xs):
    h = jnp.zeros((8, 32))
    for t in range(24):
        z = nn.sigmoid(xs[t] @ u + h @ w + b)
        h = (1 - z) * h + z * jnp.tanh(h @ w + b)
    return jnp.sum(h**2)
rng = np.random.default_rng(0)
shapes = (32, 32), (16, 32), (32,), (24, 8, 16)
operands = [jnp.asarray(rng.normal(size=shape) * 0.1, jnp.float32) for shape in shapes]
tiers = {"tiers": True} if name == "olympus" else {}
gradient = top.jit(top.grad(f, (0, 1, 2)), **tiers)
started, wall = time.process_time(), time.perf_counter()
top.block_until_ready(gradient(*operands))
print(time.process_time() - started, time.perf_counter() - wall)
"""


def _of_program(program: str, name: str) -> tuple[float, float]:
    done = subprocess.run(
        [sys.executable, "-c", program, name], capture_output=True, text=True, check=True
    )
    processor, wall = map(float, done.stdout.split()[-2:])
    return processor, wall


@workload("200 small jitted functions, with tiers", "first use", quantity="seconds")
def _(lib: Any) -> Callable:
    return lambda: _of_program(_SUITE, lib.name)


@workload("first gradient of 24 recurrent steps, with tiers", "first use", quantity="seconds")
def _(lib: Any) -> Callable:
    return lambda: _of_program(_UNROLLED, lib.name)
