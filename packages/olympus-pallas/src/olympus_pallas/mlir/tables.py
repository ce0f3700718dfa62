# SPDX-License-Identifier: Apache-2.0
"""Tables of lowering rules for kernels, one for each language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable

__all__ = ["define_for_both", "mosaic_rules", "triton_rules"]

KernelRule = Callable[..., Any]

# Map from a primitive to its rule, `rule(builder, *operands, **params)`. The rule builds operations
# and returns the value of the result, or a list of values if the primitive has several results.
# References are operands too; each language represents them by objects of its own.
triton_rules: RuleTable[KernelRule] = RuleTable(
    "Triton", package="olympus_pallas", folder="lowerings.triton"
)
mosaic_rules: RuleTable[KernelRule] = RuleTable(
    "Mosaic", package="olympus_pallas", folder="lowerings.mosaic"
)


def define_for_both(primitive: Primitive, rule: KernelRule | None = None) -> Any:
    """Defines one rule of a primitive for both languages. Without ``rule``, returns a decorator."""
    if rule is None:
        return lambda function: (define_for_both(primitive, function), function)[1]
    triton_rules.define(primitive, rule)
    mosaic_rules.define(primitive, rule)
    return None
