# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import olympus_batching  # noqa: F401 - declares primitives of its own
import olympus_ir.lax  # noqa: F401 - declares the instruction set
from olympus_batching.tables import (
    axis_rules,
    batching_rules,
    collective_batching_rules,
    load_rules,
)
from olympus_ir import primitives

load_rules()


def test_every_primitive_has_a_rule():
    assert batching_rules.holes(primitives()) == []


def test_every_collective_has_both_rules():
    collectives = [each for each in primitives() if each.family == "collectives"]
    assert collectives
    assert collective_batching_rules.holes(collectives) == []
    assert axis_rules.holes(collectives) == []
