# SPDX-License-Identifier: Apache-2.0
"""Lowering of olympusprs to StableHLO, one file of rules for each family of primitives."""

from . import (
    calls,
    callbacks,
    collectives,
    constraints,
    contractions,
    control_flow,
    elementwise,
    ffi,
    indexing,
    inspection,
    reductions,
    shaping,
    sharding,
    sorting,
    transfer,
)
from .tables import lowering_rules as lowering_rules
