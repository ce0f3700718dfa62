# SPDX-License-Identifier: Apache-2.0
"""Reference rules of contractions."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..lax.contractions import products
from ..lax.contractions.products import product_dtype
from ..types import dtypes
from .tables import reference_rules


@reference_rules.define(products.dot_general_p)
def dot_general(
    lhs: np.ndarray,
    rhs: np.ndarray,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> np.ndarray:
    """Sums products. Floats are summed in double precision, and only the sums are rounded."""
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    dtype = preferred_element_type or product_dtype(lhs.dtype, rhs.dtype)
    wide = _accumulation_dtype(dtype)
    # Label the dimensions. Equal labels are paired. Labels that both operands have are summed over,
    # except batch labels.
    lhs_labels = list(range(lhs.ndim))
    rhs_labels = list(range(lhs.ndim, lhs.ndim + rhs.ndim))
    for lhs_dimension, rhs_dimension in (
        *zip(lhs_batch, rhs_batch, strict=True),
        *zip(lhs_contracting, rhs_contracting, strict=True),
    ):
        rhs_labels[rhs_dimension] = lhs_labels[lhs_dimension]
    result_labels = [
        *(lhs_labels[dimension] for dimension in lhs_batch),
        *_free(lhs_labels, lhs_contracting, lhs_batch),
        *_free(rhs_labels, rhs_contracting, rhs_batch),
    ]
    result = np.einsum(
        lhs.astype(wide), lhs_labels, rhs.astype(wide), rhs_labels, result_labels, optimize=False
    )
    return result.astype(dtype)


def _free(labels: list[int], contracting: tuple, batch: tuple) -> list[int]:
    used = {*contracting, *batch}
    return [label for dimension, label in enumerate(labels) if dimension not in used]


def _accumulation_dtype(dtype: Any) -> Any:
    if dtypes.issubdtype(dtype, np.floating):
        return np.float64
    if dtypes.issubdtype(dtype, np.complexfloating):
        return np.complex128
    if dtypes.issubdtype(dtype, np.integer) and np.dtype(dtype).isbuiltin != 1:
        return np.int64
    return dtype
