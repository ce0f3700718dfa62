# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import olympus_batching  # noqa: F401 - declares primitives of its own
import olympus_ir.lax  # noqa: F401 - declares the instruction set
from olympus_batching.tables import (
    axis_rules,
    batching_rules,
    collective_batching_rules,
)
from olympus_ir import primitives
from olympus_testing import assert_complete


def test_every_primitive_has_a_batching_rule():
    assert_complete(batching_rules, primitives())


def test_rules_of_collectives():
    collectives = [
        each
        for each in primitives()
        if each.family in ("collectives", "ragged_exchange", "point_to_point")
    ]
    assert collectives
    assert_complete(collective_batching_rules, collectives)
    for primitive in collectives:
        assert (primitive in axis_rules) == (primitive in collective_batching_rules)
