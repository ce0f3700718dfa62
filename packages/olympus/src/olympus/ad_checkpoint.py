# SPDX-License-Identifier: Apache-2.0
"""Rematerialization: the backward pass recomputes residuals that are not saved."""

from olympus_autodiff import (
    checkpoint,
    checkpoint_name,
    checkpoint_policies,
    print_saved_residuals,
    remat,
)
from olympus_autodiff.rematerialization.policies import Offloadable, Recompute, Saveable

from ._faces import present as _present

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "remat",
]

_present(__name__)
