# SPDX-License-Identifier: Apache-2.0
"""Helpers of discharge rules for primitives that call programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..programs.olympuspr import ClosedOlympuspr, Equation, close_olympuspr
from ..programs.tracing import current
from ..types.avals import get_aval
from .discharge import Discharged, discharge_closed

Operands = Sequence[Any]
# The new values of the operands (None for unchanged operands), and the results.
Changes = tuple[list[Any], Sequence[Any]]


def is_discharged(equation: Equation, operands: Operands, place: int) -> bool:
    """Returns whether an operand is a discharged reference, passed as an array."""
    return equation.invars[place].aval.is_ref and not get_aval(operands[place]).is_ref


def unchanged(equation: Equation) -> list[Any]:
    """Returns None for each operand, which states that no reference is written."""
    return [None] * len(equation.invars)


def discharged_program(
    equation: Equation, operands: Operands, program: ClosedOlympuspr, first: int = 0
) -> Discharged:
    """Discharges a program in an equation's parameters.

    The inputs of the program are the equation's operands from position ``first`` on.
    """
    flags = [
        is_discharged(equation, operands, first + position)
        for position in range(len(program.in_avals))
    ]
    return discharge_closed(program, tuple(flags))


def with_written_only(discharged: Discharged) -> ClosedOlympuspr:
    """Returns the program without the final values of references that it does not write."""
    if len(discharged.written) == len(discharged.refs):
        return discharged.closed
    results = discharged.closed.jaxpr.outvars[: discharged.num_results]
    outvars = [*results, *[discharged.last_value(position) for position in discharged.written]]
    return replaced(discharged.closed, outvars=outvars)


def replaced(closed: ClosedOlympuspr, **changes: Any) -> ClosedOlympuspr:
    """Returns a program with some fields changed."""
    olympuspr = closed.jaxpr.replace(**changes)
    return (
        ClosedOlympuspr(olympuspr, closed.consts) if closed.consts else close_olympuspr(olympuspr)
    )


def changes_of_call(equation: Equation, discharged: Discharged, outs: Sequence[Any]) -> Changes:
    """Returns the new values of a call's operands, and its results."""
    values = unchanged(equation)
    for position, value in zip(discharged.written, outs[discharged.num_results :], strict=True):
        values[position] = value
    return values, outs[: discharged.num_results]


def apply(primitive: Any, operands: Operands, params: dict[str, Any]) -> Any:
    """Applies a primitive under the current trace."""
    return current.trace.process_primitive(primitive, operands, params)
