# SPDX-License-Identifier: Apache-2.0
"""Eager operations, random numbers and eager transformations on small arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .models import mlp_loss
from .workloads import WORKLOADS, Workload, workload


def _eager(name: str, make: Callable[[Any], Callable[[], Any]], group: str = "eager") -> None:
    WORKLOADS.append(Workload(name, group, make))


def arrays(lib: Any) -> tuple[Any, Any, Any]:
    x = lib.np.asarray(np.linspace(0.1, 1.0, 64, dtype=np.float32).reshape(8, 8))
    y = lib.np.asarray(np.linspace(1.0, 2.0, 64, dtype=np.float32).reshape(8, 8))
    i = lib.np.asarray(np.array([1, 3, 5], np.int32))
    return x, y, i


def _define_eager() -> None:
    def of(function: Callable[[Any, Any, Any, Any], Any]) -> Callable[[Any], Callable[[], Any]]:
        def prepare(lib: Any) -> Callable[[], Any]:
            x, y, i = arrays(lib)
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
        "x[1, 2:5]": lambda lib, x, y, i: x[1, 2:5],
        "x[..., ::2]": lambda lib, x, y, i: x[..., ::2],
        "x[x > 0.5] by where": lambda lib, x, y, i: lib.np.where(x > 0.5, x, 0.0),
        "x[indices, indices]": lambda lib, x, y, i: x[i, i],
        "x.at[1:3].set": lambda lib, x, y, i: x.at[1:3].set(0.0),
        "x.at[indices].set": lambda lib, x, y, i: x.at[i].set(0.0),
        "x.at[:, 1].multiply": lambda lib, x, y, i: x.at[:, 1].multiply(2.0),
        "x.at[0].get": lambda lib, x, y, i: x.at[0].get(),
        "jnp.take": lambda lib, x, y, i: lib.np.take(x, i, axis=0),
        "jnp.mean(axis=0)": lambda lib, x, y, i: lib.np.mean(x, axis=0),
        "jnp.var": lambda lib, x, y, i: lib.np.var(x),
        "jnp.linalg.norm": lambda lib, x, y, i: lib.np.linalg.norm(x),
        "jnp.square": lambda lib, x, y, i: lib.np.square(x),
        "jnp.transpose": lambda lib, x, y, i: lib.np.transpose(x),
        "jnp.pad": lambda lib, x, y, i: lib.np.pad(x, 1),
        "jnp.full_like": lambda lib, x, y, i: lib.np.full_like(x, 2.0),
        "jnp.asarray of a list": lambda lib, x, y, i: lib.np.asarray([1.0, 2.0, 3.0]),
        "nn.relu": lambda lib, x, y, i: lib.nn.relu(x),
        "nn.softmax": lambda lib, x, y, i: lib.nn.softmax(x),
        "nn.gelu": lambda lib, x, y, i: lib.nn.gelu(x),
        "nn.one_hot": lambda lib, x, y, i: lib.nn.one_hot(i, 8),
        "float(x[0, 0])": lambda lib, x, y, i: float(x[0, 0]),
    }
    for name, function in operations.items():
        _eager(name, of(function))


_define_eager()


# ---- random numbers ----


def _define_random() -> None:
    operations: dict[str, Callable[[Any, Any], Any]] = {
        "random.split": lambda lib, key: lib.random.split(key),
        "random.fold_in": lambda lib, key: lib.random.fold_in(key, 1),
        "random.normal": lambda lib, key: lib.random.normal(key, (8,)),
        "random.uniform": lambda lib, key: lib.random.uniform(key, (8,)),
        "random.bernoulli": lambda lib, key: lib.random.bernoulli(key, 0.3, (8,)),
        "random.randint": lambda lib, key: lib.random.randint(key, (8,), 0, 10),
        "random.permutation": lambda lib, key: lib.random.permutation(key, 8),
        "random.categorical": lambda lib, key: lib.random.categorical(key, np.zeros(8, np.float32)),
        "random.key": lambda lib, key: lib.random.key_data(lib.random.key(3)),
        "random.normal((1000, 1000))": lambda lib, key: lib.random.normal(key, (1000, 1000)),
        "random.uniform((1000, 1000))": lambda lib, key: lib.random.uniform(key, (1000, 1000)),
    }

    def of(function: Callable[[Any, Any], Any]) -> Callable[[Any], Callable[[], Any]]:
        def prepare(lib: Any) -> Callable[[], Any]:
            key = lib.random.PRNGKey(0)
            return lambda: lib.top.block_until_ready(function(lib, key))

        return prepare

    for name, function in operations.items():
        _eager(name, of(function), group="random numbers")


_define_random()


# ---- eager transformations ----


def _five(lib: Any) -> Callable:
    def f(x: Any) -> Any:
        return lib.np.sum(lib.np.sin(x) * lib.np.exp(x) + x)

    return f


@workload("eager grad of 5 operations", "eager transformations")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    return lambda: lib.top.grad(_five(lib))(x)


@workload("eager value_and_grad of an MLP", "eager transformations", compare=False)
def _(lib: Any) -> Callable:
    loss, (params, batch) = mlp_loss(lib)
    params = lib.top.tree_util.tree_map(lib.np.asarray, params)
    batch = lib.np.asarray(batch)
    return lambda: lib.top.value_and_grad(loss)(params, batch)


@workload("eager vjp", "eager transformations")
def _(lib: Any) -> Callable:
    x, y, _ = arrays(lib)

    def run() -> Any:
        _, pull = lib.top.vjp(lambda x: lib.np.sin(x) * x, x)
        return pull(y)[0]

    return run


@workload("eager jvp", "eager transformations")
def _(lib: Any) -> Callable:
    x, y, _ = arrays(lib)
    return lambda: lib.top.jvp(lambda x: lib.np.sin(x) * x, (x,), (y,))[1]


@workload("eager vmap of 3 operations", "eager transformations")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    return lambda: lib.top.vmap(lambda v: lib.np.sin(v) * 2.0 + v)(x)


@workload("eager hessian", "eager transformations")
def _(lib: Any) -> Callable:
    x = lib.np.asarray(np.linspace(0.1, 1.0, 4, dtype=np.float32))
    return lambda: lib.top.hessian(lambda x: lib.np.sum(lib.np.sin(x) * x * x))(x)


@workload("eager grad of a jitted function", "eager transformations")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    f = lib.top.jit(_five(lib))
    return lambda: lib.top.grad(f)(x)


@workload("eager hessian of a mapped function", "eager transformations", short=False)
def _(lib: Any) -> Callable:
    x = lib.np.asarray(np.linspace(0.1, 1.0, 12, dtype=np.float32).reshape(3, 4))

    def total(w: Any) -> Any:
        return lib.np.mean(lib.top.vmap(lambda v: lib.np.sum(lib.np.sin(v * w) * v))(x))

    w = lib.np.asarray(np.linspace(0.5, 1.0, 4, dtype=np.float32))
    return lambda: lib.top.hessian(total)(w)


@workload("eager grad of vmap", "eager transformations")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    mapped = lib.top.vmap(lambda v: lib.np.sum(lib.np.tanh(v) * v))
    return lambda: lib.top.grad(lambda x: lib.np.sum(mapped(x)))(x)


@workload("eager vmap of grad", "eager transformations")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    return lambda: lib.top.vmap(lib.top.grad(lambda v: lib.np.sum(lib.np.tanh(v) * v)))(x)
