# SPDX-License-Identifier: Apache-2.0
"""Interfaces for libraries that compile kernels themselves."""

from olympus_pallas.grids.grid_mappings import GridMapping
from olympus_pallas.lowerings.calls import register_lowering_rule

from .._faces import present as _present

__all__ = ["GridMapping", "register_lowering_rule"]

_present(__name__)
