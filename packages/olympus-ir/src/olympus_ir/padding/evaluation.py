# SPDX-License-Identifier: Apache-2.0
"""`evaluate_padded`, which runs a program of symbolic sizes on padded arrays by a rule table."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from .. import lax
from ..programs.evaluation import bind_equation, run_equations
from ..programs.expansion import expansion_rules
from ..programs.olympuspr import ClosedOlympuspr, Equation, Olympuspr
from ..programs.primitives import Primitive
from ..programs.rules import RuleTable
from ..programs.staging import trace_to_closed
from ..symbolic.expressions import SymbolicDim
from ..types.avals import ShapedArray
from .lengths import Lengths, is_symbolic

__all__ = [
    "Site",
    "define_unchanged",
    "evaluate_padded",
    "padding_rules",
    "refused",
    "run_inner",
    "spread_to",
]


class Site(NamedTuple):
    """Data about an equation that its padding rule receives besides operands and parameters.

    Attributes:
      lengths: the sizes of the dimensions.
      operands: the types of the operands, with symbolic shapes.
      results: the types of the results.
    """

    lengths: Lengths
    operands: Sequence[ShapedArray]
    results: Sequence[ShapedArray]


# Maps a primitive to a rule `(site, *padded operands, **params)`. The rule returns the padded
# result, or a list of padded results if the primitive has several.
padding_rules: RuleTable[Callable[..., Any]] = RuleTable(
    "padding", package="olympus_ir", folder="padding.rules", expands=True
)


def evaluate_padded(
    closed: ClosedOlympuspr, lengths: Lengths, operands: Sequence[Any]
) -> list[Any]:
    """Runs a program of symbolic sizes on padded arrays, in the current trace.

    Args:
      closed: the program.
      lengths: the sizes of its dimensions.
      operands: the padded operands.

    Returns:
      The padded results. The elements of their padding are unspecified.

    Raises:
      NotImplementedError: the padding would change the result of an operation.
    """
    return run_equations(
        closed.jaxpr,
        closed.consts,
        operands,
        functools.partial(_evaluate_equation, lengths),
    )


def run_inner(closed: ClosedOlympuspr, lengths: Lengths, operands: Sequence[Any]) -> list[Any]:
    """Runs a nested program, such as a branch of a conditional; see `evaluate_padded`."""
    return evaluate_padded(closed, lengths.inner(), operands)


def _evaluate_equation(
    lengths: Lengths, equation: Equation, values: Sequence[Any]
) -> Sequence[Any]:
    primitive = equation.primitive
    if not _varies(equation):
        return bind_equation(equation, values)
    site = Site(
        lengths,
        [atom.aval for atom in equation.invars],
        [var.aval for var in equation.outvars],
    )
    rule = padding_rules.find(primitive)
    if rule is None:
        return _expanded(site, primitive, values, equation.params)
    results = rule(site, *values, **equation.params)
    return results if primitive.multiple_results else [results]


def _expanded(
    site: Site, primitive: Primitive, values: Sequence[Any], params: dict[str, Any]
) -> Sequence[Any]:
    expansion = expansion_rules.find(primitive)
    if expansion is None:
        raise padding_rules.missing(primitive, f"of {shown(site)}")

    def flat(*operands: Any) -> Sequence[Any]:
        results = expansion(*operands, **params)
        return results if primitive.multiple_results else [results]

    return evaluate_padded(trace_to_closed(flat, site.operands), site.lengths, values)


def _varies(value: Any) -> bool:
    """Returns whether an equation, a program or a parameter contains a symbolic size."""
    if isinstance(value, SymbolicDim):
        return True
    if isinstance(value, Equation):
        avals = [atom.aval for atom in (*value.invars, *value.outvars)]
        return any(is_symbolic(getattr(aval, "shape", ())) for aval in avals) or any(
            map(_varies, value.params.values())
        )
    if isinstance(value, tuple | list):
        return any(map(_varies, value))
    if isinstance(value, ClosedOlympuspr | Olympuspr):
        return any(map(_varies, value.eqns))
    return isinstance(value, ShapedArray) and is_symbolic(value.shape)


def shown(site: Site) -> str:
    """Formats the types of the operands, for messages."""
    return ", ".join(aval.str_short(short_dtypes=True) for aval in site.operands)


def refused(site: Site, primitive: Primitive, reason: str) -> NotImplementedError:
    """Returns the error for an operation whose result would depend on the padding."""
    return NotImplementedError(
        f"padding would change the result of {primitive.name} of {shown(site)}: {reason}"
    )


def define_unchanged(*primitives: Primitive) -> None:
    """Defines the rules of operations that treat padding and valid elements alike."""
    for primitive in primitives:
        padding_rules.define(primitive, _unchanged(primitive))


def _unchanged(primitive: Primitive) -> Callable[..., Any]:
    def rule(site: Site, *operands: Any, **params: Any) -> Any:
        return primitive.bind(*operands, **params)

    return rule


# ---- elementwise operations ----


@padding_rules.derive("its declaration as elementwise")
def _of_elementwise(primitive: Primitive) -> Callable[..., Any] | None:
    if not primitive.elementwise:
        return None

    def rule(site: Site, *operands: Any, **params: Any) -> Any:
        result = site.results[0]
        spread = [
            spread_to(site.lengths, operand, aval, result)
            for operand, aval in zip(operands, site.operands, strict=True)
        ]
        return primitive.bind(*spread, **params)

    return rule


def spread_to(lengths: Lengths, operand: Any, aval: ShapedArray, result: ShapedArray) -> Any:
    """Broadcasts an operand of an elementwise operation along symbolic dimensions of the result."""
    if aval.shape == result.shape or not is_symbolic(result.shape):
        return operand
    shape = lengths.shape(result.shape)
    if not aval.shape:
        filled = lax.broadcast(operand, shape)
    else:
        filled = lax.broadcast_in_dim(operand, shape, tuple(range(len(shape))))
    return lengths.guarded(filled, aval.update(shape=result.shape))
