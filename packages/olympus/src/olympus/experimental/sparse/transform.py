# SPDX-License-Identifier: Apache-2.0
"""Functions of dense arrays as functions of sparse ones."""

from olympus_sparse import (
    SparseTracer,
    sparsify,
)

__all__ = [
    "SparseTracer",
    "sparsify",
]
