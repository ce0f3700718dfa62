# SPDX-License-Identifier: Apache-2.0
"""The programs that are measured, written once for both libraries.

A workload is a function of the library's modules that returns what is to be timed: a function
without arguments, and how many units of work (equations, operations) one call of it does. What it
returns is compared between the libraries where ``compare`` is set.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Workload:
    """One program.

    Attributes:
      name: what the tables call it.
      group: the budget it counts towards.
      prepare: from the library to the function to time.
      units: the number of units of work in one call.
      compare: whether the two libraries' results must agree.
    """

    name: str
    group: str
    prepare: Callable[[Any], Callable[[], Any]]
    units: int = 1
    compare: bool = True


WORKLOADS: list[Workload] = []


def workload(name: str, group: str, units: int = 1, compare: bool = True) -> Callable:
    """Registers a function as a workload."""

    def register(prepare: Callable[[Any], Callable[[], Any]]) -> Callable:
        WORKLOADS.append(Workload(name, group, prepare, units, compare))
        return prepare

    return register


def library(name: str) -> Any:
    """The modules of ``"olympus"`` or ``"jax"`` under common names."""
    import importlib

    top = importlib.import_module(name)
    return SimpleNamespace(
        name=name,
        top=top,
        np=importlib.import_module(f"{name}.numpy"),
        lax=importlib.import_module(f"{name}.lax"),
        random=importlib.import_module(f"{name}.random"),
        make_program=top.make_olympuspr if name == "olympus" else top.make_jaxpr,
    )


# ---- tracing ----

_CHAIN = 500


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


def _mlp(lib: Any) -> tuple[Callable, Any, Any]:
    rng = np.random.default_rng(0)
    sizes = [64, 128, 128, 10]
    params = [
        {
            "w": rng.normal(size=(m, n)).astype(np.float32) / np.float32(np.sqrt(m)),
            "b": np.zeros(n, np.float32),
        }
        for m, n in itertools.pairwise(sizes)
    ]
    batch = rng.normal(size=(32, 64)).astype(np.float32)

    def loss(params: Any, batch: Any) -> Any:
        x = batch
        for layer in params[:-1]:
            x = lib.np.tanh(lib.np.dot(x, layer["w"]) + layer["b"])
        x = lib.np.dot(x, params[-1]["w"]) + params[-1]["b"]
        return lib.np.mean(x**2) + lib.np.sum(lib.np.where(x > 0, x, 0.1 * x))

    return loss, params, batch


@workload("trace 500 lax operations", "trace", _CHAIN, compare=False)
def _(lib: Any) -> Callable:
    x = np.ones(3, np.float32)
    return lambda: lib.make_program(_lax_chain(lib))(x)


@workload("trace 500 numpy operations", "trace", _CHAIN, compare=False)
def _(lib: Any) -> Callable:
    x = np.ones(3, np.float32)
    return lambda: lib.make_program(_numpy_chain(lib))(x)


@workload("trace an MLP's loss", "trace", compare=False)
def _(lib: Any) -> Callable:
    loss, params, batch = _mlp(lib)
    return lambda: lib.make_program(lambda p, b: loss(p, b))(params, batch)


@workload("trace the gradient of an MLP's loss", "trace", compare=False)
def _(lib: Any) -> Callable:
    loss, params, batch = _mlp(lib)
    return lambda: lib.make_program(lib.top.grad(lambda p, b: loss(p, b)))(params, batch)


@workload("trace the gradient of 100 lax operations", "trace", 100, compare=False)
def _(lib: Any) -> Callable:
    x = np.ones((), np.float32)

    def chain(x: Any) -> Any:
        for _ in range(50):
            x = lib.lax.sin(lib.lax.mul(x, x))
        return x

    return lambda: lib.make_program(lib.top.grad(lambda x: chain(x)))(x)


# ---- lowering ----


@workload("lower 500 lax operations", "lower", _CHAIN, compare=False)
def _(lib: Any) -> Callable:
    x = np.ones(3, np.float32)
    return _lowering_only(lib, _lax_chain(lib), (x,))


@workload("lower 500 numpy operations", "lower", _CHAIN, compare=False)
def _(lib: Any) -> Callable:
    x = np.ones(3, np.float32)
    return _lowering_only(lib, _numpy_chain(lib), (x,))


@workload("lower the gradient of an MLP's loss", "lower", compare=False)
def _(lib: Any) -> Callable:
    loss, params, batch = _mlp(lib)
    return _lowering_only(lib, lib.top.grad(loss), (params, batch))


def _lowering_only(lib: Any, fun: Callable, args: tuple) -> Callable:
    """Lowers a program traced just before; a program's second lowering would be a cache hit."""

    def setup() -> Any:
        return lib.top.jit(lambda *args: fun(*args)).trace(*args)

    def run(traced: Any) -> Any:
        return traced.lower()

    run.setup = setup  # type: ignore[attr-defined]
    return run


# ---- eager operations ----


def _eager(name: str, make: Callable[[Any], Callable[[], Any]], group: str = "eager") -> None:
    WORKLOADS.append(Workload(name, group, make))


def _arrays(lib: Any) -> tuple[Any, Any, Any]:
    x = lib.np.asarray(np.linspace(0.1, 1.0, 64, dtype=np.float32).reshape(8, 8))
    y = lib.np.asarray(np.linspace(1.0, 2.0, 64, dtype=np.float32).reshape(8, 8))
    i = lib.np.asarray(np.array([1, 3, 5], np.int32))
    return x, y, i


def _define_eager() -> None:
    def of(function: Callable[[Any, Any, Any, Any], Any]) -> Callable[[Any], Callable[[], Any]]:
        def prepare(lib: Any) -> Callable[[], Any]:
            x, y, i = _arrays(lib)
            return lambda: function(lib, x, y, i)

        return prepare

    operations: dict[str, Callable[[Any, Any, Any, Any], Any]] = {
        "x + y": lambda lib, x, y, i: x + y,
        "x * 2.0": lambda lib, x, y, i: x * 2.0,
        "x - y": lambda lib, x, y, i: x - y,
        "x / y": lambda lib, x, y, i: x / y,
        "x ** 2": lambda lib, x, y, i: x**2,
        "-x": lambda lib, x, y, i: -x,
        "x > y": lambda lib, x, y, i: x > y,
        "x == y": lambda lib, x, y, i: x == y,
        "x @ y": lambda lib, x, y, i: x @ y,
        "jnp.sin": lambda lib, x, y, i: lib.np.sin(x),
        "jnp.exp": lambda lib, x, y, i: lib.np.exp(x),
        "jnp.maximum": lambda lib, x, y, i: lib.np.maximum(x, y),
        "jnp.dot": lambda lib, x, y, i: lib.np.dot(x, y),
        "jnp.sum": lambda lib, x, y, i: lib.np.sum(x),
        "x.sum(axis=0)": lambda lib, x, y, i: x.sum(axis=0),
        "x.mean()": lambda lib, x, y, i: x.mean(),
        "jnp.max": lambda lib, x, y, i: lib.np.max(x),
        "jnp.argmax": lambda lib, x, y, i: lib.np.argmax(x),
        "jnp.where": lambda lib, x, y, i: lib.np.where(x > 0.5, x, y),
        "jnp.clip": lambda lib, x, y, i: lib.np.clip(x, 0.2, 0.5),
        "lax.add": lambda lib, x, y, i: lib.lax.add(x, y),
        "lax.sin": lambda lib, x, y, i: lib.lax.sin(x),
        "x.reshape": lambda lib, x, y, i: x.reshape(4, 16),
        "x.T": lambda lib, x, y, i: x.T,
        "x.astype(int32)": lambda lib, x, y, i: x.astype("int32"),
        "jnp.concatenate": lambda lib, x, y, i: lib.np.concatenate([x, y]),
        "jnp.stack": lambda lib, x, y, i: lib.np.stack([x, y]),
        "jnp.arange": lambda lib, x, y, i: lib.np.arange(10),
        "jnp.zeros": lambda lib, x, y, i: lib.np.zeros((4, 4)),
        "jnp.expand_dims": lambda lib, x, y, i: lib.np.expand_dims(x, 0),
        "x[3]": lambda lib, x, y, i: x[3],
        "x[1:5]": lambda lib, x, y, i: x[1:5],
        "x[:, 2]": lambda lib, x, y, i: x[:, 2],
        "x[indices]": lambda lib, x, y, i: x[i],
        "x.at[0].set": lambda lib, x, y, i: x.at[0].set(1.0),
        "x.at[indices].add": lambda lib, x, y, i: x.at[i].add(1.0),
        "jnp.einsum": lambda lib, x, y, i: lib.np.einsum("ij,jk->ik", x, y),
        "jnp.cumsum": lambda lib, x, y, i: lib.np.cumsum(x, axis=0),
        "jnp.sort": lambda lib, x, y, i: lib.np.sort(x),
        "jnp.broadcast_to": lambda lib, x, y, i: lib.np.broadcast_to(x, (2, 8, 8)),
    }
    for name, function in operations.items():
        _eager(name, of(function))

    def random_case(function: Callable[[Any, Any], Any]) -> Callable[[Any], Callable[[], Any]]:
        def prepare(lib: Any) -> Callable[[], Any]:
            key = lib.random.PRNGKey(0)
            return lambda: function(lib, key)

        return prepare

    _eager("random.split", random_case(lambda lib, key: lib.random.split(key)))
    _eager("random.fold_in", random_case(lambda lib, key: lib.random.fold_in(key, 1)))
    _eager("random.normal", random_case(lambda lib, key: lib.random.normal(key, (8,))))
    _eager("random.uniform", random_case(lambda lib, key: lib.random.uniform(key, (8,))))


_define_eager()


# ---- jit calls ----


@workload("jit call, 1 argument", "jit call")
def _(lib: Any) -> Callable:
    x, _, _ = _arrays(lib)
    f = lib.top.jit(lambda x: x + 1)
    return lambda: f(x)


@workload("jit call, 10 arguments", "jit call")
def _(lib: Any) -> Callable:
    x, _, _ = _arrays(lib)
    f = lib.top.jit(lambda *xs: sum(xs))
    args = (x,) * 10
    return lambda: f(*args)


@workload("jit call, 100 leaves", "jit call", compare=False)
def _(lib: Any) -> Callable:
    x, _, _ = _arrays(lib)
    tree = {f"k{n}": [x] * 10 for n in range(10)}
    f = lib.top.jit(lambda tree: tree)
    return lambda: f(tree)


@workload("jit call, static argument", "jit call")
def _(lib: Any) -> Callable:
    x, _, _ = _arrays(lib)
    f = lib.top.jit(lambda x, n: x * n, static_argnums=1)
    return lambda: f(x, 3)


@workload("new jit of one function", "jit call")
def _(lib: Any) -> Callable:
    x, _, _ = _arrays(lib)

    def fun(x: Any) -> Any:
        return x + 1

    return lambda: lib.top.jit(fun)(x)


# ---- eager transformations ----


def _five(lib: Any) -> Callable:
    def f(x: Any) -> Any:
        return lib.np.sum(lib.np.sin(x) * lib.np.exp(x) + x)

    return f


@workload("eager grad of 5 operations", "eager transformations")
def _(lib: Any) -> Callable:
    x, _, _ = _arrays(lib)
    return lambda: lib.top.grad(_five(lib))(x)


@workload("eager value_and_grad of an MLP", "eager transformations", compare=False)
def _(lib: Any) -> Callable:
    loss, params, batch = _mlp(lib)
    params = lib.top.tree_util.tree_map(lib.np.asarray, params)
    batch = lib.np.asarray(batch)
    return lambda: lib.top.value_and_grad(loss)(params, batch)


@workload("eager vjp", "eager transformations")
def _(lib: Any) -> Callable:
    x, y, _ = _arrays(lib)

    def run() -> Any:
        _, pull = lib.top.vjp(lambda x: lib.np.sin(x) * x, x)
        return pull(y)[0]

    return run


@workload("eager jvp", "eager transformations")
def _(lib: Any) -> Callable:
    x, y, _ = _arrays(lib)
    return lambda: lib.top.jvp(lambda x: lib.np.sin(x) * x, (x,), (y,))[1]


@workload("eager vmap of 3 operations", "eager transformations")
def _(lib: Any) -> Callable:
    x, _, _ = _arrays(lib)
    return lambda: lib.top.vmap(lambda v: lib.np.sin(v) * 2.0 + v)(x)


@workload("eager hessian", "eager transformations")
def _(lib: Any) -> Callable:
    x = lib.np.asarray(np.linspace(0.1, 1.0, 4, dtype=np.float32))
    return lambda: lib.top.hessian(lambda x: lib.np.sum(lib.np.sin(x) * x * x))(x)


@workload("eager grad of a jitted function", "eager transformations")
def _(lib: Any) -> Callable:
    x, _, _ = _arrays(lib)
    f = lib.top.jit(_five(lib))
    return lambda: lib.top.grad(f)(x)
