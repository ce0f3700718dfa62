# SPDX-License-Identifier: Apache-2.0
"""Warnings, errors, and maps over several dimensions."""

from olympus_sparse import (
    CuSparseEfficiencyWarning,
    SparseEfficiencyError,
    SparseEfficiencyWarning,
    SparseInfo,
    broadcasting_vmap,
    nfold_vmap,
)

__all__ = [
    "CuSparseEfficiencyWarning",
    "SparseEfficiencyError",
    "SparseEfficiencyWarning",
    "SparseInfo",
    "broadcasting_vmap",
    "nfold_vmap",
]
