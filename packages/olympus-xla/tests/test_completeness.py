# SPDX-License-Identifier: Apache-2.0
"""Every primitive of the instruction set can be lowered."""

from __future__ import annotations

import olympus_ir.lax  # noqa: F401 - declares the instruction set
from olympus_ir import primitives
from olympus_ir.programs.expansion import expansion_rules
from olympus_testing import assert_complete
from olympus_xla.compiling.lowering.tables import load_rules, lowering_rules

load_rules()


def test_every_primitive_has_a_lowering_rule():
    # A primitive that means a function of others is lowered as that function.
    expanded = [each for each in primitives() if each in expansion_rules]
    own = [each for each in primitives() if each in lowering_rules or each not in expanded]
    assert_complete(lowering_rules, own)
