# SPDX-License-Identifier: Apache-2.0
"""Promotions of operands that libraries import from JAX's private module."""

from __future__ import annotations

from typing import Any

from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_numpy.core.promotion import Promotion

_promote_types_of_complex = Promotion(dtypes.to_complex_dtype, shapes=False)


def promote_dtypes_complex(*args: Any) -> list[Array]:
    """Converts operands to their common complex dtype, without changing shapes."""
    return _promote_types_of_complex("promote_dtypes", *args)
