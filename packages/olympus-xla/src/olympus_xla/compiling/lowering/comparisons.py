# SPDX-License-Identifier: Apache-2.0
"""The attributes of comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.types import dtypes

from . import mlir

_comparisons: dict[Any, dict[str, Any]] = {}


def comparison_attributes(direction: str, dtype: Any, total_order: bool = False) -> dict[str, Any]:
    """Returns the attributes of ``stablehlo.compare``."""
    key = (direction, dtype, total_order)
    found = _comparisons.get(key)
    if found is None:
        kind = "TOTALORDER" if total_order else comparison_kind(dtype)
        found = _comparisons[key] = {
            "comparison_direction": mlir.parsed(f"#stablehlo<comparison_direction {direction}>"),
            "compare_type": mlir.parsed(f"#stablehlo<comparison_type {kind}>"),
        }
    return found


def comparison_kind(dtype: Any) -> str:
    """Returns the kind of comparison of elements of a dtype."""
    if dtypes.issubdtype(dtype, np.inexact):
        return "FLOAT"
    if dtypes.issubdtype(dtype, np.signedinteger):
        return "SIGNED"
    return "UNSIGNED"
