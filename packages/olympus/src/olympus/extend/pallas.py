# SPDX-License-Identifier: Apache-2.0
"""For those who bring a compiler of kernels of their own."""

from olympus_pallas.grids.grid_mappings import GridMapping
from olympus_pallas.lowerings.calls import register_lowering_rule

__all__ = ["GridMapping", "register_lowering_rule"]
