# SPDX-License-Identifier: Apache-2.0
"""Expansions: definitions of primitives as functions of other primitives.

An expansion is enough to define a primitive, because every interpreter runs the expansion if it has
no rule. The interpreters are the inference of types and layouts, the reference evaluator, batching,
derivatives (forward, reverse and Taylor mode) and lowering. Define an additional rule only if it is
better than the expansion.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ..trees import pytrees
from .primitives import Primitive
from .propagation import Propagation, propagation_rules
from .rules import RuleTable
from .staging import trace_to_closed

__all__ = ["cpu_expansion_rules", "expansion_rules", "types_of_expansion"]

Expansion = Callable[..., Any]


class ExpansionTable(RuleTable[Expansion]):
    """Table of expansions: definitions of primitives as functions of other primitives.

    The definition of an expansion also defines the primitive's shape rule, unless there is one.
    """

    def define(
        self, primitive: Primitive, rule: Expansion | None = None, *, derived: str = ""
    ) -> Any:
        defined = super().define(primitive, rule, derived=derived)
        if rule is not None and not primitive.has_shape_rule:
            primitive.def_effectful_abstract_eval(functools.partial(_shape_rule, primitive))
        return defined


# Maps a primitive to a function `(*operands, **params)` of lax operations. The function returns one
# result, or a list if the primitive has several.
expansion_rules: ExpansionTable = ExpansionTable("expansion", package="olympus_ir", folder=None)

# Maps a primitive to an expansion that programs for a single CPU device use instead, because it is
# faster there. It computes the same results.
cpu_expansion_rules: RuleTable[Expansion] = RuleTable(
    "CPU expansion", package="olympus_ir", folder=None
)


def types_of_expansion(
    primitive: Primitive, avals: tuple[Any, ...], params: dict[str, Any]
) -> tuple[tuple[Any, ...], frozenset]:
    """Returns the types of the results of a primitive's expansion, and its effects."""
    expansion = expansion_rules[primitive]

    def flat(*operands: Any) -> list[Any]:
        return pytrees.tree_leaves(expansion(*operands, **params))

    closed = trace_to_closed(flat, avals)
    return tuple(closed.out_avals), frozenset(closed.effects)


def _shape_rule(primitive: Primitive, *avals: Any, **params: Any) -> tuple[Any, frozenset]:
    results, effects = types_of_expansion(primitive, avals, params)
    return (results if primitive.multiple_results else results[0]), effects


@propagation_rules.derive("its expansion")
def _of_expansion(primitive: Primitive) -> Propagation | None:
    if primitive not in expansion_rules.rules:
        return None
    return Propagation(None, infer=functools.partial(types_of_expansion, primitive))
