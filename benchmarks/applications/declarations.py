# SPDX-License-Identifier: Apache-2.0
"""The record of an application, and the table to which the modules of this package add records."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Application:
    """One program, as a user of each library would write it.

    Attributes:
      name: the name in the table.
      operands: makes the arrays with NumPy.
      arrays: the program for JAX and OLYMPUS, compiled by `jit`: a function of the names of a
        library and the arrays.
      torch: a function of PyTorch and tensors, which runs both eagerly and with ``torch.compile``.
      numpy: a function of arrays; None if nobody would write the program with NumPy.
      numba: maps the module to a compiled function of arrays; None if nobody would use Numba.
      tolerance: the allowed difference of results, relative to their norm.
    """

    name: str
    operands: Callable[[], tuple[np.ndarray, ...]]
    arrays: Callable[..., Any]
    torch: Callable[..., Any]
    numpy: Callable[..., Any] | None = None
    numba: Callable[[Any], Callable[..., Any]] | None = None
    tolerance: float = 1e-3


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Returns normally distributed numbers in single precision."""
    numbers = np.random.default_rng(seed).normal(size=shape) * scale
    return numbers.astype(np.float32)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, seed: int = 0) -> np.ndarray:
    """Returns uniformly distributed numbers in single precision."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
