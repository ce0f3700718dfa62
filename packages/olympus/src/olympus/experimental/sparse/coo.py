# SPDX-License-Identifier: Apache-2.0
"""Sparse matrices as rows, columns and values."""

from olympus_sparse import (
    COO,
    COOInfo,
    coo_fromdense,
    coo_fromdense_p,
    coo_matmat,
    coo_matmat_p,
    coo_matvec,
    coo_matvec_p,
    coo_todense,
    coo_todense_p,
)

from ..._faces import present as _present

__all__ = [
    "COO",
    "COOInfo",
    "coo_fromdense",
    "coo_fromdense_p",
    "coo_matmat",
    "coo_matmat_p",
    "coo_matvec",
    "coo_matvec_p",
    "coo_todense",
    "coo_todense_p",
]

_present(__name__)
