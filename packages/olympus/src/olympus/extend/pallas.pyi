# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_pallas.grids.grid_mappings import GridMapping as GridMapping
from olympus_pallas.lowerings.calls import register_lowering_rule as register_lowering_rule
