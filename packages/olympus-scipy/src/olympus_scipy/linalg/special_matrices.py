# SPDX-License-Identifier: Apache-2.0
"""Matrices that a formula or a few numbers describe."""

from __future__ import annotations

import olympus_numpy as jnp
from olympus_ir.arrays import Array

__all__ = ["hilbert"]


def hilbert(n: int) -> Array:
    """Returns the Hilbert matrix of order ``n``, whose entries are ``1 / (i + j + 1)``.

    >>> hilbert(2).shape
    (2, 2)
    """
    index = jnp.arange(n)
    return 1.0 / (index[:, None] + index[None, :] + 1)
