# SPDX-License-Identifier: Apache-2.0
"""Symbolic dimensions as numbers of the program."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import dtypes
from ..avals import ShapedArray
from ..primitives import instruction

__all__ = ["dim_as_value_p"]

dim_as_value_p = instruction("dim_as_value", family="shaping")


@dim_as_value_p.def_abstract_eval
def _number(*, dim: Any) -> ShapedArray:
    return ShapedArray((), dtypes.canonicalize_dtype(np.int64), weak_type=True)
