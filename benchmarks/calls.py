# SPDX-License-Identifier: Apache-2.0
"""Calls of compiled functions, and the pytrees of their arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .eager import arrays
from .workloads import workload


@workload("jit call, 1 argument", "jit call")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    f = lib.top.jit(lambda x: x + 1)
    return lambda: f(x)


@workload("jit call, 10 arguments", "jit call")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    f = lib.top.jit(lambda *xs: sum(xs))
    args = (x,) * 10
    return lambda: f(*args)


@workload("jit call, 100 leaves", "jit call", compare=False)
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    tree = {f"k{n}": [x] * 10 for n in range(10)}
    f = lib.top.jit(lambda tree: tree)
    return lambda: f(tree)


@workload("jit call, static argument", "jit call")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    f = lib.top.jit(lambda x, n: x * n, static_argnums=1)
    return lambda: f(x, 3)


@workload("new jit of one function", "jit call")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)

    def fun(x: Any) -> Any:
        return x + 1

    return lambda: lib.top.jit(fun)(x)


@workload("jit call, donated argument", "jit call")
def _(lib: Any) -> Callable:
    f = lib.top.jit(lambda x: x + 1.0, donate_argnums=0)
    state = [lib.np.zeros((8, 8))]

    def call() -> Any:
        state[0] = f(state[0])

    return call


@workload("jit call, keywords", "jit call")
def _(lib: Any) -> Callable:
    x, y, _ = arrays(lib)
    f = lib.top.jit(lambda a, *, b: a + b)
    return lambda: f(x, b=y)


@workload("jit call, typed key", "jit call")
def _(lib: Any) -> Callable:
    state = {"key": lib.random.key(0), "x": lib.np.ones(3)}
    f = lib.top.jit(lambda state: state["x"] + 1)
    return lambda: f(state)


@workload("jit call, typed keys as results", "jit call", compare=False)
def _(lib: Any) -> Callable:
    key = lib.random.key(0)
    f = lib.top.jit(lambda key: lib.random.split(key))
    return lambda: f(key)


@workload("jit call, NumPy argument", "jit call")
def _(lib: Any) -> Callable:
    x = np.ones((8, 8), np.float32)
    f = lib.top.jit(lambda x: x + 1)
    return lambda: f(x)


@workload("jit call, ahead of time, 10 arguments", "jit call")
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    args = (x,) * 10
    f = lib.top.jit(lambda *xs: sum(xs)).lower(*args).compile()
    return lambda: f(*args)


@workload("jit call, sharded over 8 devices", "jit call", devices=8)
def _(lib: Any) -> Callable:
    mesh = lib.top.make_mesh((8,), ("x",))
    sharding = lib.sharding.NamedSharding(mesh, lib.sharding.PartitionSpec("x"))
    x = lib.top.device_put(np.ones((64, 4), np.float32), sharding)
    f = lib.top.jit(lambda x: x * 2.0 + 1.0)
    return lambda: f(x)


@workload("retrace for new types", "retrace", units=1)
def _(lib: Any) -> Callable:
    shapes = [np.ones(n, np.float32) for n in range(2, 4)]

    def fun(x: Any) -> Any:
        return lib.np.sum(lib.np.sin(x) * x)

    def run() -> Any:
        f = lib.top.jit(lambda x: fun(x))
        return [f.trace(x) for x in shapes] and None

    return run


@workload("retrace an equal function", "retrace", units=1)
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)

    def run() -> Any:
        return lib.top.jit(lambda x: lib.np.sum(lib.np.sin(x) * x)).trace(x) and None

    return run


@workload("lower again", "retrace", units=1)
def _(lib: Any) -> Callable:
    x, _, _ = arrays(lib)
    f = lib.top.jit(lambda x: lib.np.sum(lib.np.sin(x) * x))
    return lambda: f.lower(x) and None


@workload("jit call, two devices, all-reduce", "jit call", devices=2)
def _(lib: Any) -> Callable:
    mesh = lib.top.make_mesh((2,), ("x",))
    sharding = lib.sharding.NamedSharding(mesh, lib.sharding.PartitionSpec("x"))
    x = lib.top.device_put(np.ones((8,), np.float32), sharding)
    f = lib.top.jit(lambda x: (x * 2.0).sum())
    return lambda: f(x).block_until_ready()


@workload("device_put, 4 MB of NumPy", "jit call", units=1)
def _(lib: Any) -> Callable:
    x = np.ones((1 << 20,), np.float32)
    return lambda: lib.top.device_put(x).block_until_ready()


# ---- pytrees ----


def _tree() -> dict[str, Any]:
    return {f"k{n}": [{"w": float(n), "b": float(m)} for m in range(10)] for n in range(50)}


def _define_trees() -> None:
    def flatten_and_back(lib: Any, tree: Any) -> Any:
        leaves, structure = lib.top.tree_util.tree_flatten(tree)
        return lib.top.tree_util.tree_unflatten(structure, leaves)

    operations: dict[str, Callable[[Any, Any], Any]] = {
        "flatten": lambda lib, tree: lib.top.tree_util.tree_leaves(tree),
        "flatten and unflatten": flatten_and_back,
        "map": lambda lib, tree: lib.top.tree_util.tree_map(lambda x: x, tree),
        "map of two": lambda lib, tree: lib.top.tree_util.tree_map(lambda x, y: x, tree, tree),
        "flatten with paths": lambda lib, tree: lib.top.tree_util.tree_flatten_with_path(tree),
        "map with paths": lambda lib, tree: lib.top.tree_util.tree_map_with_path(
            lambda path, x: x, tree
        ),
    }

    def define(name: str, function: Callable[[Any, Any], Any]) -> None:
        def prepare(lib: Any) -> Callable[[], Any]:
            tree = _tree()
            return lambda: function(lib, tree)

        workload(f"pytree of 1,000 leaves: {name}", "pytrees", compare=False)(prepare)

    for name, function in operations.items():
        define(name, function)


_define_trees()
