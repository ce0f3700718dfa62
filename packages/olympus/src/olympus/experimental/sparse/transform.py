# SPDX-License-Identifier: Apache-2.0
"""Applies functions of dense arrays to sparse arrays."""

from olympus_sparse import (
    SparseTracer,
    sparsify,
)

__all__ = [
    "SparseTracer",
    "sparsify",
]
