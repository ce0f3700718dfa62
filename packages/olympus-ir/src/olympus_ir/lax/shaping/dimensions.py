# SPDX-License-Identifier: Apache-2.0
"""Sizes of dimensions, including symbolic sizes, as array values of a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...programs.primitives import instruction
from ...programs.tracing import is_constant_dim
from ...types import dtypes
from ...types.annotations import DTypeLike
from ...types.avals import ShapedArray
from ..elementwise.conversion import convert_element_type
from .rearrangement import concatenate, reshape

__all__ = ["dim_as_value_p", "size_array", "sizes_array"]

dim_as_value_p = instruction("dim_as_value", family="shaping")


@dim_as_value_p.def_abstract_eval
def _number(*, dim: Any) -> ShapedArray:
    return ShapedArray((), dtypes.canonicalize_dtype(np.int64), weak_type=True)


def size_array(size: Any, dtype: DTypeLike) -> Any:
    """Returns the size of a dimension as a scalar array.

    Args:
      size: an integer or a symbolic dimension.
      dtype: the dtype of the result.

    Returns:
      A scalar: a NumPy array for an integer, otherwise a value of the program.

    Example:
      >>> size_array(3, np.int32)
      array(3, dtype=int32)
    """
    if is_constant_dim(size):
        return np.array(size, dtype)
    return convert_element_type(dim_as_value_p.bind(dim=size), dtype)


def sizes_array(sizes: Sequence[Any], dtype: DTypeLike) -> Any:
    """Returns sizes of dimensions as a vector; see `size_array`.

    Example:
      >>> sizes_array((2, 3), np.dtype("int32"))
      array([2, 3], dtype=int32)
    """
    if all(map(is_constant_dim, sizes)):
        return np.array(sizes, dtype)
    return concatenate([reshape(size_array(size, dtype), (1,)) for size in sizes], 0)
