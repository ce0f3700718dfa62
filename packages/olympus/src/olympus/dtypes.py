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
from olympus_numpy.arrays.scalar_types import finfo, iinfo

from ._faces import present as _present

__all__ = [
    "TypePromotionError",
    "bfloat16",
    "canonicalize_dtype",
    "extended",
    "finfo",
    "float0",
    "iinfo",
    "issubdtype",
    "itemsize_bits",
    "prng_key",
    "result_type",
    "scalar_type_of",
]

_present(__name__)
