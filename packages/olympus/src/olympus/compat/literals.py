# SPDX-License-Identifier: Apache-2.0
"""Names of JAX's private module of constants.

JAX has its own class of NumPy arrays, ``TypedNdArray``. OLYMPUS uses `numpy.ndarray` in its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.types.typed_scalars import TypedComplex, TypedFloat, TypedInt

__all__ = ["TypedComplex", "TypedFloat", "TypedInt", "TypedNdArray", "full_lower"]

TypedNdArray = np.ndarray


def full_lower(val: Any) -> Any:
    """Returns a value unchanged, because OLYMPUS has no tracers of constants."""
    return val
