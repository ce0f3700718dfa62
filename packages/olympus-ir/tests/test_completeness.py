# SPDX-License-Identifier: Apache-2.0
"""Each primitive has a reference rule."""

from __future__ import annotations

import olympus_ir.lax  # noqa: F401 - declares the instruction set
from olympus_ir import primitives
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.reference import reference_rules
from olympus_testing import assert_complete


def test_every_primitive_has_reference_rule_or_expansion():
    # What an expansion defines needs no rule of its own.
    assert_complete(
        reference_rules,
        [primitive for primitive in primitives() if primitive not in expansion_rules],
    )
