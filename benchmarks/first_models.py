# SPDX-License-Identifier: Apache-2.0
"""First use of models: parameters, training steps and large signatures in fresh processes.

The times include imports if the name of the benchmark says so. A second process uses the caches
that the first process wrote to a separate folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .fresh_processes import caching_in, times_of
from .workloads import workload

_ROOT = Path(__file__).parent.parent

_IMPORTS = """
import importlib, sys, time
started, wall = 0.0, time.perf_counter()
import numpy as np
from benchmarks import models, workloads
lib = workloads.library(sys.argv[1])
top, jnp, random = lib.top, lib.np, lib.random
def begin():
    global started, wall
    top.block_until_ready(jnp.asarray(np.zeros(3, np.float32)))
    started, wall = time.process_time(), time.perf_counter()
def end():
    print(time.process_time() - started, time.perf_counter() - wall)
"""

# Parameters are drawn one after the other, each with the shape and scale of its layer.
_INITIALIZATION = """
class Keys:
    def __init__(self):
        self.key = random.key(0)
    def __next__(self):
        self.key, key = random.split(self.key)
        return key
def normal(keys, *shape):
    return random.normal(next(keys), shape) * (2 / np.prod(shape[:-1])) ** 0.5
def transformer(keys, width=64, vocabulary=100):
    def layer():
        return {
            "scale1": jnp.ones(width),
            "scale2": jnp.ones(width),
            "bias": jnp.zeros(4 * width),
            "up": normal(keys, width, 4 * width),
            "down": normal(keys, 4 * width, width),
            **{name: normal(keys, width, width) for name in ("q", "k", "v", "out")},
        }
    return [layer() for _ in range(12)], [normal(keys, vocabulary, width) for _ in range(2)]
def resnet(keys):
    def convolution(size, m, n):
        return {"w": normal(keys, size, size, m, n), "scale": jnp.ones(n), "bias": jnp.zeros(n)}
    def block(m, n):
        down = {"down": convolution(1, m, n)} if m != n else {}
        return {"first": convolution(3, m, n), "second": convolution(3, n, n), **down}
    widths = (16, 16), (16, 32), (32, 64), (64, 128)
    stages = [[block(m, n), block(n, n)] for m, n in widths]
    return convolution(7, 3, 16), stages, normal(keys, 128, 10)
def stax(keys):
    layers = importlib.import_module(f"{lib.name}.example_libraries.stax")
    init, _ = layers.serial(
        layers.Conv(32, (3, 3)), layers.Relu, layers.Conv(64, (3, 3)), layers.Relu,
        layers.MaxPool((2, 2)), layers.Flatten, layers.Dense(128), layers.Relu, layers.Dense(10),
    )
    return init(next(keys), (1, 16, 16, 3))
make = {"transformer": transformer, "ResNet-18": resnet, "stax": stax}[sys.argv[2]]
begin()
top.block_until_ready(make(Keys()))
end()
"""

# Processor time is counted from the start of the interpreter, so it includes the imports.
_STEP = """
fun, arguments = models.MODELS[sys.argv[2]](lib)
top.block_until_ready(top.jit(fun)(*arguments))
end()
"""

# The large compilation takes many times as long as the small ones, and must not delay them.
_BESIDE = """
import threading
def small(number):
    top.block_until_ready(top.jit(lambda x: jnp.sin(x) * number + x)(np.ones(5, np.float32)))
small(0.5)
fun, arguments = models.straight_line_gradient(lib, 4000)
lowered = top.jit(fun).lower(*arguments)
thread = threading.Thread(target=lowered.compile)
if sys.argv[2] == "beside":
    thread.start()
started, wall = time.thread_time(), time.perf_counter()
for number in range(12):
    small(float(number))
times = time.thread_time() - started, time.perf_counter() - wall
if sys.argv[2] == "beside":
    thread.join()
print(*times)
"""

_LEAVES = """
leaves = [jnp.asarray(np.float32(number)) for number in range(10_000)]
begin()
top.block_until_ready(top.jit(lambda leaves: [each + 1 for each in leaves])(leaves))
end()
"""


def _in_fresh_process(program: str, *arguments: str, folder: str | None = None) -> tuple:
    """Returns the two numbers that a program prints; without a folder, it uses no caches."""
    caching = caching_in(folder) if folder else {"OLYMPUS_ENABLE_COMPILATION_CACHE": "0"}
    return times_of(_IMPORTS + program, *arguments, PYTHONPATH=str(_ROOT), **caching)


def _in_second_process(program: str, *arguments: str) -> tuple:
    with tempfile.TemporaryDirectory() as folder:
        _in_fresh_process(program, *arguments, folder=folder)
        return _in_fresh_process(program, *arguments, folder=folder)


def _define(name: str, program: str, *arguments: str, group: str = "first use") -> None:
    @workload(name, group, short=False, quantity="seconds")
    def _(lib: Any) -> Callable:
        return lambda: _in_fresh_process(program, lib.name, *arguments)


def _define_second(name: str, program: str, *arguments: str) -> None:
    @workload(f"{name}, second process", "first use", short=False, quantity="seconds")
    def _(lib: Any) -> Callable:
        return lambda: _in_second_process(program, lib.name, *arguments)


for _name in ("transformer", "ResNet-18", "stax"):
    _define(f"parameters: {_name}", _INITIALIZATION, _name)
    _define_second(f"parameters: {_name}", _INITIALIZATION, _name)
for _name in ("MLP", "transformer of 12 layers", "ResNet-18", "recurrent network", "ODE"):
    _define(f"import and first step: {_name}", _STEP, _name)
    _define_second(f"import and first step: {_name}", _STEP, _name)
_define("first call with 10,000 leaves", _LEAVES, group="compile")
_define("12 small compilations", _BESIDE, "alone", group="compile")
_define("12 small compilations beside a large one", _BESIDE, "beside", group="compile")
