# SPDX-License-Identifier: Apache-2.0
"""Every primitive of the instruction set can be lowered."""

from __future__ import annotations

import olympus_ir.lax  # noqa: F401 - declares the instruction set
from olympus_ir import primitives
from olympus_testing import assert_complete
from olympus_xla.compiling.lowering.tables import lowering_rules


def test_every_primitive_has_a_lowering_rule():
    assert_complete(lowering_rules, primitives())
