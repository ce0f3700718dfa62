# SPDX-License-Identifier: Apache-2.0
"""Tables of lowering rules for kernels, one for each language."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable

__all__ = ["define_for_both", "mosaic_rules", "triton_rules"]

KernelRule = Callable[..., Any]

# From a primitive to `rule(builder, *operands, **params)`, which builds operations and returns the
# value of its result, or the list of values where the primitive has several results. References are
# operands too, as objects of the language's own.
triton_rules: RuleTable[KernelRule] = RuleTable(
    "Triton", package="olympus_pallas", folder="lowerings.triton"
)
mosaic_rules: RuleTable[KernelRule] = RuleTable(
    "Mosaic", package="olympus_pallas", folder="lowerings.mosaic"
)


def define_for_both(primitive: Primitive, rule: KernelRule | None = None) -> Any:
    """Defines one rule of a primitive for both languages; without ``rule``, a decorator."""
    if rule is None:
        return lambda function: (define_for_both(primitive, function), function)[1]
    triton_rules.define(primitive, rule)
    mosaic_rules.define(primitive, rule)
    return None
