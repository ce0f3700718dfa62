# SPDX-License-Identifier: Apache-2.0
"""Functions of sparse arrays of any format."""

from olympus_sparse import (
    empty,
    eye,
    todense,
    todense_p,
)

from ..._faces import present as _present

__all__ = [
    "empty",
    "eye",
    "todense",
    "todense_p",
]

_present(__name__)
