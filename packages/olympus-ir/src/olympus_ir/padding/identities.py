# SPDX-License-Identifier: Apache-2.0
"""Neutral elements of maxima and minima, which replace padding in reductions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..types import dtypes

__all__ = ["highest", "lowest"]


def lowest(dtype: Any) -> Any:
    """Returns the smallest value of a dtype: negative infinity for floats.

    Example:
      >>> lowest(np.dtype("int8")), lowest(np.dtype("float32"))
      (-128, -inf)
    """
    if dtypes.issubdtype(dtype, np.bool_):
        return False
    if dtypes.issubdtype(dtype, np.integer):
        return int(dtypes.iinfo(dtype).min)
    return -np.inf


def highest(dtype: Any) -> Any:
    """Returns the largest value of a dtype: infinity for floats."""
    if dtypes.issubdtype(dtype, np.bool_):
        return True
    if dtypes.issubdtype(dtype, np.integer):
        return int(dtypes.iinfo(dtype).max)
    return np.inf
