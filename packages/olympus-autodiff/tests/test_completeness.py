# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import olympus_batching  # noqa: F401 - declares primitives of its own
from olympus_autodiff import jvp_rules, transpose_rules
from olympus_ir import primitives
from olympus_testing import assert_complete


def test_every_primitive_has_a_jvp_rule():
    assert_complete(jvp_rules, primitives())


def test_every_linear_primitive_has_a_transpose_rule():
    """Of the primitives that are linear in operands, and no others but calls."""
    linear = [primitive for primitive in primitives() if primitive.linear_in]
    assert_complete(transpose_rules, linear)
    own = [each for each in primitives() if each in transpose_rules]
    others = [each for each in own if not each.linear_in and each not in transpose_rules.derived]
    assert {primitive.family for primitive in others} <= {"calls", "control_flow"}
