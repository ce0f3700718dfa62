# SPDX-License-Identifier: Apache-2.0
"""Applies functions of dense arrays to sparse arrays."""

from olympus_sparse import (
    SparseTracer,
    sparsify,
)

from ..._faces import present as _present

__all__ = [
    "SparseTracer",
    "sparsify",
]

_present(__name__)
