# SPDX-License-Identifier: Apache-2.0
"""Arguments that reductions share: masks, initial values, kept axes and accumulation dtypes."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from olympus_ir import lax
from olympus_ir.programs.wide_constants import allowed_dtype
from olympus_ir.types import dtypes

from ..core.promotion import as_integer, check_arraylike, convert, ensure_array

__all__ = [
    "check_where",
    "initial_value",
    "keep_axes",
    "scale_dtype",
    "summed_in_float32",
    "widened_dtype",
]

_bool = np.dtype(bool)
#: The dtype of scales, which are powers of two. It has no zero, from which a sum could start.
scale_dtype = np.dtype(ml_dtypes.float8_e8m0fnu)
#: Dtypes of floats that are summed in float32.
summed_in_float32 = frozenset({np.dtype(np.float16), np.dtype(dtypes.bfloat16), scale_dtype})


def keep_axes(result: Any, shape: tuple, axes: tuple, keepdims: bool) -> Any:
    """Restores the reduced axes with size one, if ``keepdims`` is set."""
    if not keepdims:
        return result
    kept_shape = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    if kept_shape == result.shape:
        return result
    remaining = tuple(axis for axis in range(len(shape)) if axis not in axes)
    return lax.broadcast_in_dim(result, kept_shape, remaining)


def widened_dtype(dtype: Any, promote_integers: bool) -> Any:
    """Returns the accumulation dtype of elements of a dtype."""
    if dtype is _bool:
        return dtypes.default_int_dtype()
    if promote_integers and dtypes.issubdtype(dtype, np.integer):
        default = dtypes.default_int_dtype()
        if dtypes.issubdtype(dtype, np.unsignedinteger):
            default = dtypes.default_uint_dtype()
        dtype = default if dtypes.itemsize_bits(dtype) < dtypes.itemsize_bits(default) else dtype
    return allowed_dtype(dtype)


def check_where(name: str, where: Any) -> None:
    """Raises ValueError if a mask is given and not boolean."""
    if where is None:
        return
    check_arraylike(name, where)
    dtype = ensure_array(where).dtype
    if dtype != np.bool_:
        raise ValueError(
            f"jnp.{name}: where must be None or a boolean array; got where.dtype={dtype!r}. "
            "Compare with zero first."
        )


def initial_value(name: str, initial: Any, dtype: Any) -> Any:
    """Returns the initial value of a reduction in the dtype in which it computes.

    Raises:
      ValueError: the initial value is not a scalar.
      OverflowError: it is a Python integer beyond the default integer dtype.
    """
    check_arraylike(name, initial)
    if np.shape(initial):
        raise ValueError(
            f"{name}: initial value must be a scalar. Got array of shape {np.shape(initial)}"
        )
    if isinstance(initial, int | float) and dtypes.issubdtype(dtype, np.integer):
        if isinstance(initial, int):
            default = dtypes.default_int_dtype()
            initial = np.array(initial, dtype if dtype.itemsize > default.itemsize else default)
        return as_integer(initial, dtype)
    return convert(initial, dtype)
