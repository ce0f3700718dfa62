# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import olympus_autodiff.tables
import olympus_batching.tables
import olympus_random  # noqa: F401 - declares the primitives on keys
from olympus_ir import primitives
from olympus_ir.programs.expansion import expansion_rules
from olympus_testing import assert_complete

PRIMITIVES = [primitive for primitive in primitives() if primitive.family == "random"]


def test_samples_include_known_primitives():
    assert {primitive.name for primitive in PRIMITIVES} >= {"random_bits", "threefry2x32"}


def test_every_primitive_is_explained():
    assert_complete(expansion_rules, PRIMITIVES)


def test_every_primitive_has_batching_and_jvp_rules():
    assert_complete(olympus_batching.tables.batching_rules, PRIMITIVES)
    assert_complete(olympus_autodiff.tables.jvp_rules, PRIMITIVES)
