# SPDX-License-Identifier: Apache-2.0
"""For those who bring a compiler of kernels of their own."""

from olympus_pallas.lowerings.calls import register_lowering_rule
from olympus_pallas.grids.grid_specs import GridMapping

__all__ = ["GridMapping", "register_lowering_rule"]
