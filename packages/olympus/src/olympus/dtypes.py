# SPDX-License-Identifier: Apache-2.0
"""Dtypes and their promotion."""

from olympus_ir.dtypes import (
    TypePromotionError,
    bfloat16,
    canonicalize_dtype,
    extended,
    float0,
    issubdtype,
    itemsize_bits,
    prng_key,
    result_type,
    scalar_type_of,
)

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
