# SPDX-License-Identifier: Apache-2.0
"""Random sparse arrays."""

from olympus_sparse import (
    random_bcoo,
)

from ..._faces import present as _present

__all__ = [
    "random_bcoo",
]

_present(__name__)
