# SPDX-License-Identifier: Apache-2.0
"""Contents of uninitialized memory in the interpreter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.references import AbstractRef

from .spaces import SemaphoreDType

__all__ = ["empty_buffer", "interpreted_aval", "uninitialized", "unset_value"]


def unset_value(dtype: Any) -> Any:
    """Returns the value of uninitialized elements: NaN, or the smallest integer."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.bool_):
        return False
    return dtypes.iinfo(dtype).min


def uninitialized(shape: Sequence[int], dtype: Any) -> Any:
    """Returns an uninitialized array."""
    return lax.full(tuple(shape), unset_value(dtype), dtype)


def interpreted_aval(aval: Any) -> Any:
    """Returns the type of a reference in the interpreter; semaphores are integers."""
    if aval.is_ref and isinstance(aval.dtype, SemaphoreDType):
        return AbstractRef(ShapedArray(aval.shape, np.dtype(np.int32)), aval.memory_space)
    return aval


def empty_buffer(aval: AbstractRef) -> Any:
    """Returns the first contents of a reference of a type; semaphores start at 0."""
    if isinstance(aval.dtype, SemaphoreDType):
        return lax.full(aval.shape, 0, np.dtype(np.int32))
    return uninitialized(aval.shape, aval.dtype)
