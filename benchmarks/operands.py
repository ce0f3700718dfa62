# SPDX-License-Identifier: Apache-2.0
"""Operands of the operations that `peers` compares: functions that make tuples of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["Maker", "arrays", "integers", "joined"]

Maker = Callable[[], tuple[np.ndarray, ...]]


def arrays(*shapes: tuple[int, ...], dtype: Any = np.float32) -> Maker:
    """Returns a function that makes normally distributed arrays."""
    return lambda: tuple(
        np.random.default_rng(seed).normal(size=shape).astype(dtype)
        for seed, shape in enumerate(shapes)
    )


def integers(high: int, *shapes: tuple[int, ...], low: int = 0, dtype: Any = np.int32) -> Maker:
    """Returns a function that makes uniformly distributed arrays of integers."""
    return lambda: tuple(
        np.random.default_rng(seed).integers(low, high, shape).astype(dtype)
        for seed, shape in enumerate(shapes)
    )


def joined(*makers: Maker) -> Maker:
    """Returns a function that makes the arrays of several such functions."""
    return lambda: tuple(array for make in makers for array in make())
