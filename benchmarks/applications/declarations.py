# SPDX-License-Identifier: Apache-2.0
"""What an application is, and the table that the modules of this package fill."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Application:
    """One program, as a user of each library writes it.

    Attributes:
      name: what the table calls it.
      operands: makes the arrays, by NumPy.
      arrays: the program by the names of JAX and OLYMPUS, which `jit` compiles: a function of
        these names and the arrays.
      torch: a function of PyTorch and tensors, which runs eagerly and by ``torch.compile``.
      numpy: a function of arrays; None where nobody would write the program with NumPy.
      numba: from the module to a compiled function of arrays; None in the same case.
      tolerance: the difference of results that is allowed, relative to their norm.
    """

    name: str
    operands: Callable[[], tuple[np.ndarray, ...]]
    arrays: Callable[..., Any]
    torch: Callable[..., Any]
    numpy: Callable[..., Any] | None = None
    numba: Callable[[Any], Callable[..., Any]] | None = None
    tolerance: float = 1e-3


def normal(*shape: int, seed: int = 0, scale: float = 1.0) -> np.ndarray:
    """Returns normal numbers in single precision."""
    numbers = np.random.default_rng(seed).normal(size=shape) * scale
    return numbers.astype(np.float32)


def uniform(*shape: int, low: float = 0.0, high: float = 1.0, seed: int = 0) -> np.ndarray:
    """Returns uniform numbers in single precision."""
    return np.random.default_rng(seed).uniform(low, high, shape).astype(np.float32)
