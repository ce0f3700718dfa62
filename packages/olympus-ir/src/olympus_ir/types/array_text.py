# SPDX-License-Identifier: Apache-2.0
"""Text form of arrays, like NumPy's, with the name Array and the weak type."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import dtypes

__all__ = ["array_text", "type_text"]

_PREFIX = "Array("


def array_text(value: np.ndarray, aval: Any) -> str:
    """Returns the elements and the type of an array, such as ``Array([1., 2.], dtype=float32)``.

    Args:
      value: the elements.
      aval: the type of the array.
    """
    if aval.size == 0:
        return f"{_PREFIX}[], shape={aval.shape}, {type_text(aval)})"
    ending = f"{type_text(aval)})"
    width = np.get_printoptions()["linewidth"]
    contents = np.array2string(
        value, prefix=_PREFIX, suffix=",", separator=", ", max_line_width=width
    )
    # The ending goes on a new line if it does not fit on the last line.
    last_line = (_PREFIX + contents).rpartition("\n")[2]
    if len(last_line) + len(", ") + len(ending) > width:
        return f"{_PREFIX}{contents},\n{' ' * len(_PREFIX)}{ending}"
    return f"{_PREFIX}{contents}, {ending}"


def type_text(aval: Any) -> str:
    """Returns the dtype and the weak type as keyword arguments, such as ``dtype=float32``."""
    return f"dtype={dtypes.name_of(aval.dtype)}{', weak_type=True' if aval.weak_type else ''}"
