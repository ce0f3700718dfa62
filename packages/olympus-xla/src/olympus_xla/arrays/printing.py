# SPDX-License-Identifier: Apache-2.0
"""Text forms of arrays, like NumPy's, with the name Array and the weak type."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["format_array", "repr_array", "str_array"]

_PREFIX = "Array("


def repr_array(array: Any) -> str:
    """Returns the contents with the dtype, such as ``Array([1., 2.], dtype=float32)``."""
    aval = array.aval
    ending = f"dtype={aval.dtype.name}{', weak_type=True' if aval.weak_type else ''})"
    if _is_of_terms(array):
        return f"{_PREFIX}shape={aval.shape}, {ending[:-1]}, sharding={array.sharding})"
    if not (array.is_fully_addressable or array.is_fully_replicated):
        return f"{_PREFIX}shape={aval.shape}, {ending}"
    if aval.size == 0:
        return f"{_PREFIX}[], shape={aval.shape}, {ending}"
    width = np.get_printoptions()["linewidth"]
    contents = np.array2string(
        array._value, prefix=_PREFIX, suffix=",", separator=", ", max_line_width=width
    )
    # The ending goes on a new line if it does not fit on the last line.
    last_line = (_PREFIX + contents).rpartition("\n")[2]
    if len(last_line) + len(", ") + len(ending) > width:
        return f"{_PREFIX}{contents},\n{' ' * len(_PREFIX)}{ending}"
    return f"{_PREFIX}{contents}, {ending}"


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
