# SPDX-License-Identifier: Apache-2.0
"""Conversions between arrays of extended dtypes and the physical arrays that store them."""

from __future__ import annotations

from typing import Any

from ...programs.primitives import instruction
from ...types.avals import ShapedArray
from ...types.extended_arrays import logical_aval, physical_aval
from ..core.values import Array

__all__ = ["from_edtype", "from_edtype_p", "to_edtype", "to_edtype_p"]

to_edtype_p = instruction("to_edtype", family="elementwise")
from_edtype_p = instruction("from_edtype", family="elementwise")


@to_edtype_p.def_abstract_eval
def _to_edtype_shape(operand: ShapedArray, *, edtype: Any) -> ShapedArray:
    return logical_aval(operand, edtype)


@from_edtype_p.def_abstract_eval
def _from_edtype_shape(operand: ShapedArray, *, edtype: Any) -> ShapedArray:
    if operand.dtype != edtype:
        raise TypeError(f"from_edtype takes elements of dtype {edtype}, got {operand.str_short()}")
    return physical_aval(operand)


def to_edtype(operand: Any, edtype: Any) -> Array:
    """Converts a physical array to the array of an extended dtype that it stores.

    Args:
      operand: the physical array; its last dimensions are the dimensions of one element.
      edtype: the extended dtype.

    Returns:
      An array of the extended dtype, without those last dimensions.

    Example:
      >>> import olympus
      >>> key = olympus.random.key(7)
      >>> to_edtype(olympus.random.key_data(key), key.dtype) == key
      Array(True, dtype=bool)
    """
    return to_edtype_p.bind(operand, edtype=edtype)


def from_edtype(operand: Any) -> Array:
    """Converts an array of an extended dtype to the physical array that stores its elements.

    Args:
      operand: an array of an extended dtype.

    Returns:
      The physical array, whose last dimensions are the dimensions of one element.

    Example:
      >>> import olympus
      >>> from_edtype(olympus.random.key(7))
      Array([0, 7], dtype=uint32)
    """
    return from_edtype_p.bind(operand, edtype=operand.dtype)
