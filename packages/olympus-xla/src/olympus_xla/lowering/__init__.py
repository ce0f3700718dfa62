# SPDX-License-Identifier: Apache-2.0
"""Lowering of olympusprs to StableHLO, one file of rules for each family of primitives."""

from . import (
    calls,
    callbacks,
    collectives,
    contractions,
    control_flow,
    elementwise,
    indexing,
    reductions,
    shaping,
    sharding,
    sorting,
    transfer,
)
from .tables import lowering_rules as lowering_rules
