# SPDX-License-Identifier: Apache-2.0
"""First use: operations that a fresh process calls for the first time, all in one after another."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from typing import Any

from .workloads import workload

# Expressions of small arrays: most of them are exact on NumPy, the last ones are not.
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

# Imports, and the first array, come before: they have benchmarks of their own.
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
    """The processor and wall time of the operations in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, name, level, OPERATIONS],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=True,
    )
    processor, wall = map(float, done.stdout.split()[-2:])
    return processor, wall


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
            variables = {
                "OLYMPUS_ENABLE_COMPILATION_CACHE": "1",
                "OLYMPUS_CACHE_DIR": folder,
                "JAX_COMPILATION_CACHE_DIR": folder,
                "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
            }
            _in_fresh_process(lib.name, "exact", **variables)
            return _in_fresh_process(lib.name, "exact", **variables)

    return run
