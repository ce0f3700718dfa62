# SPDX-License-Identifier: Apache-2.0
"""The checker, which verifies that an olympuspr is well-formed and well-typed.

Every variable must be bound once, and before its use. The types of results must be those that the
shape rules infer from the operands. The programs in parameters must fit the equations that hold
them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics.errors import OlympusprTypeError
from ..diagnostics.source_info import summarize
from ..types.avals import AbstractValue, get_aval, typematch
from .olympuspr import (
    ClosedOlympuspr,
    Equation,
    Literal,
    Olympuspr,
    Var,
    joined_effects,
    olympusprs_in_params,
)
from .rules import RuleTable

__all__ = ["check_olympuspr", "checking_rules"]

# Rules that check the programs in an equation's parameters: `rule(operand_avals, result_avals,
# params)` raises `Misfit` if the programs do not match the operands and results.
checking_rules: RuleTable[Callable[..., None]] = RuleTable(
    "checking", package="olympus_ir", folder="rules"
)


class Misfit(Exception):
    """Error in an equation. The checker adds the position of the equation."""


def check_olympuspr(olympuspr: Olympuspr | ClosedOlympuspr) -> None:
    """Checks that a program and its subprograms are well-formed and well-typed.

    Weak types are not compared. Collectives are checked under the named axes that are bound now.

    Args:
      olympuspr: the program.

    Raises:
      OlympusprTypeError: if a check fails; the message names and prints the equation.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_ir import ShapedArray
      >>> from olympus_ir.programs.make import make_olympuspr
      >>> olympuspr = make_olympuspr(lax.sin)(1.0).jaxpr
      >>> check_olympuspr(olympuspr)
      >>> olympuspr.outvars[0].aval = ShapedArray((2,), "float32")
      >>> check_olympuspr(olympuspr)
      Traceback (most recent call last):
      OlympusprTypeError: result 0 of `sin` has type float32[2]...
    """
    checked: set[int] = set()
    if isinstance(olympuspr, ClosedOlympuspr):
        _check_constants(olympuspr)
        olympuspr = olympuspr.jaxpr
    _check_program(olympuspr, checked)


def _check_program(olympuspr: Olympuspr, checked: set[int]) -> None:
    if id(olympuspr) in checked:
        return
    checked.add(id(olympuspr))
    bound: set[Var] = set()
    for kind, variables in (("constant", olympuspr.constvars), ("input", olympuspr.invars)):
        for position, var in enumerate(variables):
            if not isinstance(var, Var):
                raise OlympusprTypeError(
                    f"{kind} {position} is not a variable: {var!r}{_in(olympuspr)}"
                )
            if var in bound:
                raise OlympusprTypeError(f"{kind} {position} is bound twice{_in(olympuspr)}")
            bound.add(var)
    for equation in olympuspr.eqns:
        try:
            _check_equation(equation, bound, checked)
        except Misfit as misfit:
            raise OlympusprTypeError(f"{misfit}{_at(equation)}{_in(olympuspr)}") from None
    effects = joined_effects(olympuspr.eqns, (*olympuspr.constvars, *olympuspr.invars))
    for position, atom in enumerate(olympuspr.outvars):
        if isinstance(atom, Var) and atom not in bound:
            raise OlympusprTypeError(
                f"result {position} is a variable without value{_in(olympuspr)}"
            )
    if not effects <= olympuspr.effects:
        missing = sorted(map(str, effects - olympuspr.effects))
        raise OlympusprTypeError(
            f"the program does not state effects of its equations: {missing}{_in(olympuspr)}"
        )


def _check_equation(equation: Equation, bound: set[Var], checked: set[int]) -> None:
    primitive = equation.primitive
    for position, atom in enumerate(equation.invars):
        if isinstance(atom, Literal):
            _check_literal(atom, position)
        elif atom not in bound:
            raise Misfit(f"operand {position} of `{primitive.name}` is a variable without value")
    for program in olympusprs_in_params(equation.params):
        _check_program(program, checked)
    for item in _closed_programs(equation.params):
        _check_constants(item)
    avals = tuple([atom.aval for atom in equation.invars])
    try:
        out_avals, effects = primitive.infer(avals, equation.params)
    except Exception as error:
        raise Misfit(
            f"the types of the results of `{primitive.name}` cannot be inferred: "
            f"{type(error).__name__}: {error}"
        ) from error
    _check_results(equation, out_avals, bound)
    if effects != equation.effects:
        raise Misfit(
            f"`{primitive.name}` has the effects {_listed(effects)}, the equation states "
            f"{_listed(equation.effects)}"
        )
    rule = checking_rules.find(primitive)
    if rule is not None:
        rule(avals, [var.aval for var in equation.outvars], equation.params)


def _check_results(equation: Equation, out_avals: Sequence[Any], bound: set[Var]) -> None:
    """Checks the variables that an equation binds, and adds them to the bound variables."""
    primitive = equation.primitive
    if len(out_avals) != len(equation.outvars):
        raise Misfit(
            f"`{primitive.name}` has {len(out_avals)} results, the equation binds "
            f"{len(equation.outvars)} variables"
        )
    for position, (var, aval) in enumerate(zip(equation.outvars, out_avals, strict=True)):
        if not typematch(var.aval, aval):
            raise Misfit(
                f"result {position} of `{primitive.name}` has type {short_type(var.aval)}, but "
                f"{short_type(aval)} is inferred from the operands"
            )
        if var in bound:
            raise Misfit(f"result {position} of `{primitive.name}` is bound twice")
        bound.add(var)


def _closed_programs(params: dict[str, Any]) -> list[ClosedOlympuspr]:
    return [
        item
        for value in params.values()
        for item in (value if isinstance(value, tuple | list) else (value,))
        if isinstance(item, ClosedOlympuspr)
    ]


def _check_literal(literal: Literal, position: int) -> None:
    try:
        aval = get_aval(literal.val)
    except TypeError:
        raise Misfit(
            f"operand {position} is a literal that is not an array: {literal.val!r}"
        ) from None
    if aval.shape or not typematch(aval, literal.aval):
        raise Misfit(
            f"operand {position} is a literal of type {short_type(aval)} whose stated type is "
            f"{short_type(literal.aval)}"
        )


def _check_constants(closed: ClosedOlympuspr) -> None:
    for position, (var, value) in enumerate(
        zip(closed.jaxpr.constvars, closed.consts, strict=True)
    ):
        if not typematch(var.aval, get_aval(value)):
            raise OlympusprTypeError(
                f"constant {position} has type {short_type(var.aval)}, but its value has type "
                f"{short_type(get_aval(value))}{_in(closed.jaxpr)}"
            )


# ---- programs in parameters ----


def check_types(
    subject: str, actual: Sequence[AbstractValue], expected: Sequence[AbstractValue]
) -> None:
    """Raises `Misfit` if types differ from the expected types."""
    if len(actual) != len(expected):
        raise Misfit(f"{subject}: {len(actual)} given, {len(expected)} expected")
    for position, (aval, expected_aval) in enumerate(zip(actual, expected, strict=True)):
        if not typematch(aval, expected_aval):
            raise Misfit(
                f"{subject}, number {position}: {short_type(aval)} given, "
                f"{short_type(expected_aval)} expected"
            )


# ---- messages ----


def short_type(aval: AbstractValue) -> str:
    """Returns a short text of a type, for error messages."""
    return aval.str_short()


def _listed(effects: frozenset) -> str:
    return "{" + ", ".join(sorted(map(str, effects))) + "}"


def _at(equation: Equation) -> str:
    return f"\n\nin the equation\n\n{equation}\n\nfrom {summarize(equation.source_info)}"


def _in(olympuspr: Olympuspr) -> str:
    return f"\n\nin the program\n\n{olympuspr}"
