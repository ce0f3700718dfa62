# SPDX-License-Identifier: Apache-2.0
"""Tracing, lowering, compiling and running of models, and growth with the number of equations."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from . import models
from .workloads import workload

_CHAIN = 500


# ---- one equation ----


def _lax_chain(lib: Any) -> Callable:
    def chain(x: Any) -> Any:
        for _ in range(_CHAIN // 2):
            x = lib.lax.sin(lib.lax.mul(x, x))
        return x

    return chain


def _numpy_chain(lib: Any) -> Callable:
    def chain(x: Any) -> Any:
        for _ in range(_CHAIN // 4):
            x = lib.np.sin(x * 2.0 + x) - 1.0
        return x

    return chain


_X = np.ones((8, 8), np.float32)
_I = np.array([1, 3, 5], np.int32)

# Functions of the NumPy interface with several equations, each called a hundred times.
_TRACED: dict[str, Callable[[Any, Any], Any]] = {
    "x[3]": lambda lib, x: x[3],
    "x[1:5]": lambda lib, x: x[1:5],
    "x[indices]": lambda lib, x: x[_I],
    "x.at[0].set": lambda lib, x: x.at[0].set(1.0),
    "jnp.einsum": lambda lib, x: lib.np.einsum("ij,jk->ik", x, x),
    "jnp.mean": lambda lib, x: lib.np.mean(x, axis=0),
    "jnp.where": lambda lib, x: lib.np.where(x > 0, x, 0.0),
    "jnp.concatenate": lambda lib, x: lib.np.concatenate([x, x]),
    "nn.softmax": lambda lib, x: lib.nn.softmax(x),
    "nn.gelu": lambda lib, x: lib.nn.gelu(x),
}


def _define_traced() -> None:
    def define(name: str, function: Callable[[Any, Any], Any]) -> None:
        def prepare(lib: Any) -> Callable:
            return lambda: lib.make_program(lambda x: [function(lib, x) for _ in range(100)])(_X)

        workload(f"trace {name}", "trace", 100, compare=False)(prepare)

    for name, function in _TRACED.items():
        define(name, function)


@workload("trace 500 lax operations", "trace", _CHAIN, compare=False)
def _(lib: Any) -> Callable:
    x = np.ones(3, np.float32)
    return lambda: lib.make_program(_lax_chain(lib))(x)


@workload("trace 500 numpy operations", "trace", _CHAIN, compare=False)
def _(lib: Any) -> Callable:
    x = np.ones(3, np.float32)
    return lambda: lib.make_program(_numpy_chain(lib))(x)


_define_traced()


@workload("lower 500 lax operations", "lower", _CHAIN, compare=False)
def _(lib: Any) -> Callable:
    return lowering_only(lib, _lax_chain(lib), (np.ones(3, np.float32),))


@workload("lower 500 numpy operations", "lower", _CHAIN, compare=False)
def _(lib: Any) -> Callable:
    return lowering_only(lib, _numpy_chain(lib), (np.ones(3, np.float32),))


def lowering_only(lib: Any, fun: Callable, args: tuple) -> Callable:
    """Lowers a newly traced program, because a second lowering would be a cache hit."""

    def setup() -> Any:
        return lib.top.jit(lambda *args: fun(*args)).trace(*args)

    def run(traced: Any) -> Any:
        return traced.lower()

    run.setup = setup  # type: ignore[attr-defined]
    return run


# ---- models ----


class _Compiled:
    """A compiled model, with the processor seconds (all threads) and wall seconds that it took."""

    def __init__(self, lib: Any, make: Callable[[Any], models.Model]) -> None:
        fun, args = make(lib)
        lowered = lib.top.jit(fun).lower(*args)
        wall, processor = time.perf_counter(), time.process_time()
        self.compiled = lowered.compile()
        self.seconds = (time.process_time() - processor, time.perf_counter() - wall)
        self.args = lib.top.tree_util.tree_map(lib.np.asarray, args)

    def bytes_in_use(self) -> int:
        memory = self.compiled.memory_analysis()
        return (
            memory.argument_size_in_bytes
            + memory.output_size_in_bytes
            + memory.temp_size_in_bytes
            - memory.alias_size_in_bytes
        )


_compiled = functools.cache(lambda key: _Compiled(*key.parts))


class _Key:
    """A model for one library; instances are compared by the model's name."""

    def __init__(self, name: str, lib: Any, make: Callable[[Any], models.Model]) -> None:
        self.name, self.parts = name, (lib, make)

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.name == other.name


def _define_model(name: str, make: Callable[[Any], models.Model]) -> None:
    short = name in models.QUICK

    @workload(f"trace: {name}", "trace", compare=False, short=short)
    def _(lib: Any) -> Callable:
        fun, args = make(lib)
        return lambda: lib.make_program(lambda *args: fun(*args))(*args)

    @workload(f"lower: {name}", "lower", compare=False, short=short)
    def _(lib: Any) -> Callable:
        fun, args = make(lib)
        return lowering_only(lib, fun, args)

    @workload(f"compile: {name}", "compile", short=short, quantity="seconds")
    def _(lib: Any) -> Callable:
        return lambda: _compiled(_Key(name, lib, make)).seconds

    @workload(f"step: {name}", "step", short=short)
    def _(lib: Any) -> Callable:
        model = _compiled(_Key(name, lib, make))
        return lambda: lib.top.block_until_ready(model.compiled(*model.args))

    @workload(f"memory: {name}", "memory", short=short, quantity="bytes")
    def _(lib: Any) -> Callable:
        return lambda: _compiled(_Key(name, lib, make)).bytes_in_use()


for _name, _make in models.MODELS.items():
    _define_model(_name, _make)


# ---- growth ----


def _define_growth(equations: int) -> None:
    x = np.ones(3, np.float32)

    def chain(lib: Any) -> Callable:
        def function(x: Any) -> Any:
            for _ in range(equations // 2):
                x = lib.lax.sin(lib.lax.mul(x, x))
            return x

        return function

    def linear_chain(lib: Any) -> Callable:
        def function(x: Any) -> Any:
            for _ in range(equations // 2):
                x = lib.lax.neg(lib.lax.mul(x, lib.lax.full_like(x, 0.5)))
            return x

        return function

    def transposed(lib: Any) -> Callable:
        return lambda y: lib.top.linear_transpose(linear_chain(lib), x)(y)

    transformed: dict[str, Callable[[Any], Callable]] = {
        "trace": chain,
        "jvp": lambda lib: lambda x: lib.top.jvp(chain(lib), (x,), (x,)),
        "linearize": lambda lib: lambda x: lib.top.linearize(chain(lib), x)[0],
        "gradient": lambda lib: lib.top.grad(lambda x: lib.np.sum(chain(lib)(x))),
        "transpose": transposed,
        "vmap": lambda lib: lib.top.vmap(chain(lib)),
    }
    short = equations < 1000

    def define(name: str, make: Callable[[Any], Callable]) -> None:
        @workload(
            f"{name}, {equations:,} equations", "growth", equations, compare=False, short=short
        )
        def _(lib: Any) -> Callable:
            operand = np.ones((2, 3), np.float32) if name == "vmap" else x
            return lambda: lib.make_program(make(lib))(operand)

    for name, make in transformed.items():
        define(name, make)

    @workload(f"lower, {equations:,} equations", "growth", equations, compare=False, short=short)
    def _(lib: Any) -> Callable:
        return lowering_only(lib, chain(lib), (x,))


for _equations in (500, 5000, 20000):
    _define_growth(_equations)
