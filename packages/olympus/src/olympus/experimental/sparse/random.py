# SPDX-License-Identifier: Apache-2.0
"""Random sparse arrays."""

from olympus_sparse import (
    random_bcoo,
)

__all__ = [
    "random_bcoo",
]
