# SPDX-License-Identifier: Apache-2.0
"""What memory holds in the interpreter before anything was written to it."""

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
    """What stands for elements that were not written: not a number, or the smallest integer."""
    if dtypes.issubdtype(dtype, np.inexact):
        return np.nan
    if dtypes.issubdtype(dtype, np.bool_):
        return False
    return dtypes.iinfo(dtype).min


def uninitialized(shape: Sequence[int], dtype: Any) -> Any:
    """An array whose elements were not written."""
    return lax.full(tuple(shape), unset_value(dtype), dtype)


def interpreted_aval(aval: Any) -> Any:
    """The type of a reference in the interpreter, where semaphores are numbers."""
    if aval.is_ref and isinstance(aval.dtype, SemaphoreDType):
        return AbstractRef(ShapedArray(aval.shape, np.dtype(np.int32)), aval.memory_space)
    return aval


def empty_buffer(aval: AbstractRef) -> Any:
    """What a reference of a type holds at first; semaphores count from 0."""
    if isinstance(aval.dtype, SemaphoreDType):
        return lax.full(aval.shape, 0, np.dtype(np.int32))
    return uninitialized(aval.shape, aval.dtype)
