# SPDX-License-Identifier: Apache-2.0
"""Operations on large arrays, as users of NumPy, PyTorch, JAX and OLYMPUS write them.

Each operation is a pair of programs: of NumPy's names, which the other libraries but PyTorch have
as well, and of PyTorch's. The results of all libraries are compared. `peers` measures all four;
the workloads made here measure OLYMPUS beside JAX.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np

from .workloads import workload


@dataclasses.dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes:
      name: what the tables call it.
      group: the lowering that it guards.
      operand: the array, as NumPy makes it.
      run: the operation by a module with NumPy's names.
      torch: the operation by PyTorch.
    """

    name: str
    group: str
    operand: Callable[[], np.ndarray]
    run: Callable[[Any, Any], Any]
    torch: Callable[[Any, Any], Any]


def _vector() -> np.ndarray:
    return np.random.default_rng(0).normal(size=1_000_000).astype(np.float32)


def _rows() -> np.ndarray:
    return _vector().reshape(1000, 1000)


def _distinct() -> np.ndarray:
    return np.random.default_rng(0).permutation(1_000_000).astype(np.float32)


def _small_integers() -> np.ndarray:
    return np.random.default_rng(0).integers(0, 1000, 1_000_000).astype(np.int32)


OPERATIONS = [
    Operation("sort", "sorting", _vector, lambda np, x: np.sort(x), lambda t, x: t.sort(x)[0]),
    Operation(
        "sort of rows", "sorting", _rows, lambda np, x: np.sort(x), lambda t, x: t.sort(x)[0]
    ),
    Operation(
        "argsort", "sorting", _distinct, lambda np, x: np.argsort(x), lambda t, x: t.argsort(x)
    ),
    Operation(
        "median", "sorting", _vector, lambda np, x: np.median(x), lambda t, x: t.quantile(x, 0.5)
    ),
    Operation(
        "quantile of rows",
        "sorting",
        _rows,
        lambda np, x: np.quantile(x, 0.9, axis=1),
        lambda t, x: t.quantile(x, 0.9, dim=1),
    ),
    Operation(
        "unique of small integers",
        "sorting",
        _small_integers,
        lambda np, x: np.unique(x),
        lambda t, x: t.unique(x),
    ),
    Operation("argmax", "extremes", _vector, lambda np, x: np.argmax(x), lambda t, x: t.argmax(x)),
    Operation(
        "argmax of rows",
        "extremes",
        _rows,
        lambda np, x: np.argmax(x, axis=1),
        lambda t, x: t.argmax(x, dim=1),
    ),
    Operation(
        "argmin of columns",
        "extremes",
        _rows,
        lambda np, x: np.argmin(x, axis=0),
        lambda t, x: t.argmin(x, dim=0),
    ),
    Operation(
        "cumsum", "scans", _vector, lambda np, x: np.cumsum(x), lambda t, x: t.cumsum(x, dim=0)
    ),
    Operation(
        "cumsum of rows",
        "scans",
        _rows,
        lambda np, x: np.cumsum(x, axis=1),
        lambda t, x: t.cumsum(x, dim=1),
    ),
    Operation(
        "cumsum of columns",
        "scans",
        _rows,
        lambda np, x: np.cumsum(x, axis=0),
        lambda t, x: t.cumsum(x, dim=0),
    ),
    Operation("sin", "elementwise", _vector, lambda np, x: np.sin(x), lambda t, x: t.sin(x)),
    Operation("cos", "elementwise", _vector, lambda np, x: np.cos(x), lambda t, x: t.cos(x)),
    Operation("tan", "elementwise", _vector, lambda np, x: np.tan(x), lambda t, x: t.tan(x)),
]


def _define(operation: Operation) -> None:
    @workload(f"{operation.name}, 10^6", operation.group, short=operation.name == "sin")
    def _(lib: Any) -> Callable[[], Any]:
        x = lib.np.asarray(operation.operand())
        return lambda: lib.top.block_until_ready(operation.run(lib.np, x))


for _operation in OPERATIONS:
    _define(_operation)
