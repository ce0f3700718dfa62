# SPDX-License-Identifier: Apache-2.0
"""Text forms of arrays, like NumPy's, with the name Array and the weak type."""

from __future__ import annotations

from typing import Any

from olympus_ir.types.array_text import array_text, type_text

__all__ = ["format_array", "repr_array", "str_array"]


def repr_array(array: Any) -> str:
    """Returns the contents with the dtype, such as ``Array([1., 2.], dtype=float32)``."""
    aval = array.aval
    if _is_of_terms(array):
        return f"Array(shape={aval.shape}, {type_text(aval)}, sharding={array.sharding})"
    if not (array.is_fully_addressable or array.is_fully_replicated):
        return f"Array(shape={aval.shape}, {type_text(aval)})"
    return array_text(array._value, aval)


def _is_of_terms(array: Any) -> bool:
    """Returns whether an array is unreduced: each device holds one term of a sum."""
    spec = getattr(array.sharding, "spec", None)
    return spec is not None and bool(spec.unreduced)


def str_array(array: Any) -> str:
    """Returns the contents as text, such as ``[1. 2.]``."""
    if not _is_of_terms(array) and (array.is_fully_addressable or array.is_fully_replicated):
        return str(array._value)
    return repr_array(array)


def format_array(array: Any, format_spec: str) -> str:
    """Formats a scalar as its Python value, and other arrays as text."""
    if _is_of_terms(array):
        return repr_array(array)
    value = array._value
    if array.aval.shape:
        return format(value, format_spec)
    return format(value[()], format_spec)
