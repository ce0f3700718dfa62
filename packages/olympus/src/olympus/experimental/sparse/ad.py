# SPDX-License-Identifier: Apache-2.0
"""Derivatives with respect to sparse arrays."""

from olympus_sparse import (
    grad,
    jacfwd,
    jacobian,
    jacrev,
    value_and_grad,
)

from ..._faces import present as _present

__all__ = [
    "grad",
    "jacfwd",
    "jacobian",
    "jacrev",
    "value_and_grad",
]

_present(__name__)
