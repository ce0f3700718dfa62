# SPDX-License-Identifier: Apache-2.0
"""Warnings, errors, and `vmap` over several dimensions, for sparse arrays."""

from olympus_sparse import (
    CuSparseEfficiencyWarning,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    SparseInfo,
    broadcasting_vmap,
    nfold_vmap,
)

from ..._faces import present as _present

__all__ = [
    "CuSparseEfficiencyWarning",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "SparseInfo",
    "broadcasting_vmap",
    "nfold_vmap",
]

_present(__name__)
