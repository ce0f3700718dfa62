# SPDX-License-Identifier: Apache-2.0
"""The table of lowering rules, and the combinators that fill most of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.programs.expansion import cpu_expansion_rules, expansion_rules
from olympus_ir.programs.olympuspr import Literal
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable

from . import mlir

if TYPE_CHECKING:
    from .context import LoweringContext

LoweringRule = Callable[..., Any]

_FOLDER = "compiling.lowering.rules"
_MISSING = "MLIR translation rule for primitive '{}' not found"

# Maps a primitive to `rule(context, *operands, **params)`. The rule builds operations and returns
# the value of the result, or the list of values if the primitive has several results.
lowering_rules: RuleTable[LoweringRule] = RuleTable(
    "lowering", package="olympus_xla", folder=_FOLDER, missing=_MISSING, expands=True
)

# Maps a platform to the table of its own rules, which take precedence over common rules.
platform_rules: dict[str, RuleTable[LoweringRule]] = {}


def rules_for_platform(platform: str) -> RuleTable[LoweringRule]:
    """Returns the table of a platform's own rules, which is created on first use."""
    table = platform_rules.get(platform)
    if table is None:
        table = platform_rules[platform] = RuleTable(
            f"{platform} lowering", package="olympus_xla", folder=_FOLDER, missing=_MISSING
        )
    return table


def define_for_platform(primitive: Primitive, platform: str, rule: LoweringRule) -> None:
    """Defines a primitive's lowering rule for one platform."""
    table = rules_for_platform(platform)
    # A rule that comes from elsewhere than the family's file counts as replaced.
    table.load(primitive.family)
    table.define(primitive, rule)


@lowering_rules.derive("its expansion")
def _of_expansion(primitive: Primitive) -> LoweringRule | None:
    if primitive not in expansion_rules:
        return None

    def rule(context: LoweringContext, *operands: Any, **params: Any) -> Any:
        expansion = expansion_rules[primitive]
        if primitive in cpu_expansion_rules.rules and context.is_for_this_cpu:
            expansion = cpu_expansion_rules[primitive]
        return context.inline_function(expansion, operands, params)

    return rule


def nary(operation: str, **attributes: Any) -> LoweringRule:
    """Returns the rule of an elementwise primitive that corresponds to one StableHLO operation.

    Operands of rank 0 and dimensions of size 1 are broadcast to the result's shape.

    Args:
      operation: the full name of the operation, such as ``"stablehlo.add"``.
      **attributes: for each attribute name, a function that makes the attribute.
    """
    fixed: dict[str, Any] | None = None if attributes else {}

    def rule(context: LoweringContext, *args: Any, **params: Any) -> Any:
        nonlocal fixed
        operands: Sequence[Any] = args
        if fixed is None:
            fixed = {name: make() for name, make in attributes.items()}
        equation = context.equation
        aval = equation.outvars[0].aval
        shape = aval.shape
        all_attributes = fixed
        if params:
            accuracy = params.get("accuracy")
            if accuracy is not None:
                all_attributes = {**fixed, "result_accuracy": mlir.result_accuracy(accuracy)}
        if shape:
            invars = equation.invars
            for atom in invars:
                if atom.aval.shape != shape:
                    operands = spread(context, operands, shape)
                    break
        return context.create(operation, mlir.aval_type(aval), operands, all_attributes)

    return rule


def spread(context: LoweringContext, operands: Sequence[Any], shape: Sequence[int]) -> list[Any]:
    """Broadcasts scalars and dimensions of size 1 among the operands to ``shape``."""
    spread_operands = []
    for operand, atom in zip(operands, context.equation.invars, strict=True):
        aval = atom.aval
        if atom.__class__ is Literal:
            operand = context.full(atom.val, shape, aval.dtype)
        elif aval.shape != shape:
            operand = context.broadcast(operand, shape, aval.dtype, range(len(aval.shape)))
        spread_operands.append(operand)
    return spread_operands


def lower_with(fun: Callable[..., Any]) -> LoweringRule:
    """Returns a rule that traces ``fun``, a function of lax operations, and lowers it in place.

    ``fun`` takes the operands and the parameters, and returns one result or a list.
    """

    def rule(context: LoweringContext, *operands: Any, **params: Any) -> Any:
        return context.inline_function(fun, operands, params)

    return rule
