# SPDX-License-Identifier: Apache-2.0
"""Sparse arrays, and `sparsify`, which applies functions of dense arrays to sparse arrays."""

import olympus_sparse as _sparse
from olympus_sparse import *  # noqa: F403

from ... import _lazy

__all__ = [*_sparse.__all__, *("linalg",)]

# Loads the names of JAX's `jax.experimental.sparse` on demand.
__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    _lazy.names_from(
        "olympus_sparse.jacobians.transformation",
        "Plan",
        "plan",
        "sparse_hessian",
        "sparse_jacobian",
    ),
    ("ad", "api", "bcoo", "bcsr", "coo", "csr", "linalg", "random", "transform", "util"),
)
