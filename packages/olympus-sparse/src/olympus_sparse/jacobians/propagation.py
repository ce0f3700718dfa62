# SPDX-License-Identifier: Apache-2.0
"""Propagation of patterns through programs, with a rule for each primitive.

The programs are those that `olympus.jvp` and `olympus.vjp` make. They are linear in some of their
inputs. Only values that depend on these inputs have patterns. All other values are known constants
or unknown. A rule is a function ``(results, *operands, **params)``. It takes the types of the
results and the `Flow` of each operand, and returns the pattern of the result, or a list of patterns
if the primitive has several results. A primitive without a rule makes each element of its results
depend on all inputs on which its operands depend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Literal, Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable
from olympus_ir.programs.tracing import Tracer
from olympus_ir.reference import reference_evaluator, reference_rules
from olympus_ir.types import dtypes

from .patterns import Flow, Pattern, broadcast_rows, merged, select_rows, stacked_rows, united_rows

__all__ = [
    "flow_rules",
    "folded",
    "known_constant",
    "moved_elements",
    "numbered",
    "propagate",
    "run_program",
    "sparsity_rules",
    "within_blocks",
]

Rule = Callable[..., Any]

sparsity_rules: RuleTable[Rule] = RuleTable(
    "sparsity", package="olympus_sparse", folder="jacobians.rules"
)

# Rules of primitives that run programs: they return `Flow` objects, since values inside of the
# programs may be known.
flow_rules: set[Rule] = set()

_LARGEST_CONSTANT = 1 << 24


@sparsity_rules.derive("the declaration as elementwise")
def _elementwise(primitive: Primitive) -> Rule | None:
    return _union_of_operands if primitive.elementwise else None


def _union_of_operands(results: Sequence[Any], *operands: Flow, **_: Any) -> Pattern:
    return merged(broadcast_rows(operand, results[0].shape) for operand in operands)


# ---- combinators ----


def numbered(operands: Sequence[Flow]) -> tuple[list[np.ndarray], Pattern]:
    """Returns arrays of row indices for operands, and the pattern that has these rows.

    Elements of operands without a pattern have the index -1.
    """
    arrays, start = [], 0
    present = [operand for operand in operands if operand.pattern is not None]
    for operand in operands:
        if operand.pattern is None:
            arrays.append(np.full(operand.shape, -1))
        else:
            arrays.append(operand.ids + start)
            start += operand.size
    if len(present) == 1:
        return arrays, present[0].pattern
    return arrays, stacked_rows(present, present[0].pattern.shape[1])


def moved_elements(primitive: Primitive, count: int | None = None) -> Rule:
    """Returns the rule of a primitive that only moves elements.

    The reference rule of the primitive is applied to the indices of the rows.

    Args:
      primitive: the primitive.
      count: the number of the leading operands whose elements move. Operands after these must be
        known.
    """

    def rule(results: Sequence[Any], *operands: Flow, **params: Any) -> Any:
        moving = operands[:count]
        fixed = operands[len(moving) :]
        if any(flow.known is None for flow in fixed):
            return within_blocks(0)(results, *operands)
        arrays, pattern = numbered(moving)
        reference = reference_rules[primitive]
        out = reference(*arrays, *[flow.known for flow in fixed], **params)
        if primitive.multiple_results:
            return [select_rows(pattern, part) for part in out]
        return select_rows(pattern, out)

    return rule


def within_blocks(batch_ndim: int | Callable[..., int]) -> Rule:
    """Returns the rule of a primitive that mixes all elements with equal leading indices.

    Args:
      batch_ndim: the number of the leading dimensions that operands and results share, or a
        function from the operands to this number.
    """

    def rule(results: Sequence[Any], *operands: Flow, **_: Any) -> list[Pattern]:
        ndim = batch_ndim if isinstance(batch_ndim, int) else batch_ndim(*operands)
        shape = results[0].shape[:ndim]
        count = math.prod(shape)
        united = merged(
            united_rows(
                operand.pattern, np.repeat(np.arange(count), operand.size // max(count, 1)), count
            )
            for operand in operands
        )
        patterns = [
            select_rows(united, np.repeat(np.arange(count), math.prod(out.shape) // max(count, 1)))
            for out in results
        ]
        return patterns

    return rule


_everything = within_blocks(0)


# ---- programs ----


def propagate(closed: ClosedOlympuspr, inputs: Sequence[Flow]) -> list[Flow]:
    """Returns the flows of the results of a program from the flows of its inputs."""
    consts = [
        Flow(var.aval, known_constant(value))
        for var, value in zip(closed.jaxpr.constvars, closed.consts, strict=True)
    ]
    return run_program(closed.jaxpr, [*consts, *inputs])


def run_program(program: Olympuspr, inputs: Sequence[Flow]) -> list[Flow]:
    """Returns the flows of the results of a program whose first inputs are its constants."""
    environment = dict(zip([*program.constvars, *program.invars], inputs, strict=True))

    def read(atom: Any) -> Flow:
        if atom.__class__ is Literal:
            return Flow(atom.aval, known_constant(atom.val))
        return environment[atom]

    for equation in program.eqns:
        environment.update(
            zip(equation.outvars, _apply(equation, list(map(read, equation.invars))), strict=True)
        )
    return list(map(read, program.outvars))


def known_constant(value: Any) -> np.ndarray | None:
    if isinstance(value, Tracer) or (not hasattr(value, "dtype") and not np.isscalar(value)):
        return None
    if dtypes.is_extended(getattr(value, "dtype", None)) or np.size(value) > _LARGEST_CONSTANT:
        return None
    return np.asarray(value)


def _apply(equation: Equation, operands: list[Flow]) -> list[Flow]:
    results = [var.aval for var in equation.outvars]
    rule = sparsity_rules.find(equation.primitive) or _everything
    if rule in flow_rules:
        return rule(results, *operands, **equation.params)
    if all(operand.pattern is None for operand in operands):
        return folded(equation, operands, results)
    patterns = rule(results, *operands, **equation.params)
    if not isinstance(patterns, list):
        patterns = [patterns]
    return [
        Flow(aval, pattern=_without_empty(aval, pattern))
        for aval, pattern in zip(results, patterns, strict=True)
    ]


def _without_empty(aval: Any, pattern: Pattern) -> Pattern:
    """Drops patterns without entries, and patterns of values without derivatives."""
    inexact = dtypes.issubdtype(aval.dtype, np.inexact)
    return pattern if inexact and pattern is not None and pattern.nnz else None


def folded(equation: Equation, operands: Sequence[Flow], results: Sequence[Any]) -> list[Flow]:
    """Evaluates an equation whose operands are all known."""
    unknown = [Flow(aval) for aval in results]
    primitive = equation.primitive
    sizes = [math.prod(getattr(aval, "shape", ())) for aval in results]
    if (
        equation.effects
        or any(operand.known is None for operand in operands)
        or any(dtypes.is_extended(aval.dtype) for aval in results)
        or max(sizes, default=0) > _LARGEST_CONSTANT
        or reference_rules.find(primitive) is None
    ):
        return unknown
    out = reference_evaluator.evaluate(
        primitive, [operand.known for operand in operands], equation.params
    )
    values = out if primitive.multiple_results else [out]
    return [Flow(aval, np.asarray(value)) for aval, value in zip(results, values, strict=True)]
