# SPDX-License-Identifier: Apache-2.0
"""Functions of sparse arrays of any format."""

from olympus_sparse import (
    empty,
    eye,
    todense,
    todense_p,
)

__all__ = [
    "empty",
    "eye",
    "todense",
    "todense_p",
]
