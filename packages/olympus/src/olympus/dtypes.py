# SPDX-License-Identifier: Apache-2.0
"""Dtypes and their promotion."""

from olympus_ir.types.dtypes import (
    bfloat16,
    canonicalize_dtype,
    extended,
    float0,
    issubdtype,
    itemsize_bits,
    prng_key,
    scalar_type_of,
)
from olympus_ir.types.promotion import TypePromotionError, result_type

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "float0",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]
