# SPDX-License-Identifier: Apache-2.0
"""The checker: is an olympuspr well-formed and well-typed?

Every variable is bound once and before it is used, the types of results are those that the shape
rules infer from the operands, and the programs in parameters fit the equations that hold them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..diagnostics.errors import OlympusprTypeError
from ..diagnostics.source_info import summarize
from ..lax.control_flow.linear_solves import split_operands
from ..lax.control_flow.operands import ScanLayout, WhileLayout
from ..lax.control_flow.primitives import sliced_aval
from ..types.avals import AbstractValue, ShapedArray, get_aval, typematch
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

# How the programs in an equation's parameters must fit the operands and results:
# `rule(operand_avals, result_avals, params)` raises `Misfit` where they do not.
checking_rules: RuleTable[Callable[..., None]] = RuleTable(
    "checking", package="olympus_ir", folder=None
)


class Misfit(Exception):
    """Says what is wrong with an equation; the checker adds where."""


def check_olympuspr(olympuspr: Olympuspr | ClosedOlympuspr) -> None:
    """Checks that a program, and each program in it, is well-formed and well-typed.

    Weak types are not compared. Collectives are checked under the named axes that are bound now.

    Args:
      olympuspr: the program.

    Raises:
      OlympusprTypeError: where it is not; names and prints the equation.

    Example:
      >>> from olympus_ir import ShapedArray, lax, trace_to_olympuspr
      >>> olympuspr, _ = trace_to_olympuspr(lambda x: [lax.sin(x)], [ShapedArray((), "float32")])
      >>> check_olympuspr(olympuspr)
      >>> olympuspr.outvars[0].aval = ShapedArray((2,), "float32")
      >>> check_olympuspr(olympuspr)
      Traceback (most recent call last):
      olympus_ir.diagnostics.errors.OlympusprTypeError: result 0 of `sin` has type float32[2]...
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
        for place, var in enumerate(variables):
            if not isinstance(var, Var):
                raise OlympusprTypeError(f"{kind} {place} is no variable: {var!r}{_in(olympuspr)}")
            if var in bound:
                raise OlympusprTypeError(f"{kind} {place} is bound twice{_in(olympuspr)}")
            bound.add(var)
    for equation in olympuspr.eqns:
        try:
            _check_equation(equation, bound, checked)
        except Misfit as misfit:
            raise OlympusprTypeError(f"{misfit}{_at(equation)}{_in(olympuspr)}") from None
    effects = joined_effects(olympuspr.eqns, (*olympuspr.constvars, *olympuspr.invars))
    for place, atom in enumerate(olympuspr.outvars):
        if isinstance(atom, Var) and atom not in bound:
            raise OlympusprTypeError(f"result {place} is a variable without value{_in(olympuspr)}")
    if not effects <= olympuspr.effects:
        missing = sorted(map(str, effects - olympuspr.effects))
        raise OlympusprTypeError(
            f"the program does not state effects of its equations: {missing}{_in(olympuspr)}"
        )


def _check_equation(equation: Equation, bound: set[Var], checked: set[int]) -> None:
    primitive = equation.primitive
    for place, atom in enumerate(equation.invars):
        if isinstance(atom, Literal):
            _check_literal(atom, place)
        elif atom not in bound:
            raise Misfit(f"operand {place} of `{primitive.name}` is a variable without value")
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
    if len(out_avals) != len(equation.outvars):
        raise Misfit(
            f"`{primitive.name}` has {len(out_avals)} results, the equation binds "
            f"{len(equation.outvars)} variables"
        )
    for place, (var, aval) in enumerate(zip(equation.outvars, out_avals, strict=True)):
        if not typematch(var.aval, aval):
            raise Misfit(
                f"result {place} of `{primitive.name}` has type {_short(var.aval)}, but "
                f"{_short(aval)} is inferred from the operands"
            )
        if var in bound:
            raise Misfit(f"result {place} of `{primitive.name}` is bound twice")
        bound.add(var)
    if effects != equation.effects:
        raise Misfit(
            f"`{primitive.name}` has the effects {_listed(effects)}, the equation states "
            f"{_listed(equation.effects)}"
        )
    rule = checking_rules.rules.get(primitive)
    if rule is not None:
        rule(avals, [var.aval for var in equation.outvars], equation.params)


def _closed_programs(params: dict[str, Any]) -> list[ClosedOlympuspr]:
    return [
        item
        for value in params.values()
        for item in (value if isinstance(value, tuple | list) else (value,))
        if isinstance(item, ClosedOlympuspr)
    ]


def _check_literal(literal: Literal, place: int) -> None:
    try:
        aval = get_aval(literal.val)
    except TypeError:
        raise Misfit(f"operand {place} is a literal that is no array: {literal.val!r}") from None
    if aval.shape or not typematch(aval, literal.aval):
        raise Misfit(
            f"operand {place} is a literal of type {_short(aval)} that is said to have type "
            f"{_short(literal.aval)}"
        )


def _check_constants(closed: ClosedOlympuspr) -> None:
    for place, (var, value) in enumerate(zip(closed.jaxpr.constvars, closed.consts, strict=True)):
        if not typematch(var.aval, get_aval(value)):
            raise OlympusprTypeError(
                f"constant {place} has type {_short(var.aval)}, but its value has type "
                f"{_short(get_aval(value))}{_in(closed.jaxpr)}"
            )


# ---- programs in parameters ----


def _check_types(
    what: str, given: Sequence[AbstractValue], expected: Sequence[AbstractValue]
) -> None:
    if len(given) != len(expected):
        raise Misfit(f"{what}: {len(given)} given, {len(expected)} expected")
    for place, (aval, wanted) in enumerate(zip(given, expected, strict=True)):
        if not typematch(aval, wanted):
            raise Misfit(f"{what}, number {place}: {_short(aval)} given, {_short(wanted)} expected")


def _call_rule(key: str) -> Callable[..., None]:
    def rule(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
        program = params[key]
        _check_types(f"operands of `{key}`", operands, program.in_avals)
        _check_types(f"results of `{key}`", results, program.out_avals)

    return rule


checking_rules.define(lax.closed_call_p, _call_rule("call_jaxpr"))
checking_rules.define(lax.custom_jvp_call_p, _call_rule("call_jaxpr"))
checking_rules.define(lax.custom_vjp_call_p, _call_rule("call_jaxpr"))


checking_rules.define(lax.composite_p, _call_rule("jaxpr"))


@checking_rules.define(lax.jit_p)
def _jit(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    _call_rule("jaxpr")(operands, results, params)
    for key, count in (
        ("in_shardings", len(operands)),
        ("in_layouts", len(operands)),
        ("donated_invars", len(operands)),
        ("out_shardings", len(results)),
        ("out_layouts", len(results)),
    ):
        if len(params[key]) != count:
            raise Misfit(f"`{key}` has {len(params[key])} entries, not {count}")


@checking_rules.define(lax.checkpoint_p)
def _checkpoint(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    if params["jaxpr"].constvars:
        raise Misfit("the program of a checkpoint has constants; they must be operands")
    _call_rule("jaxpr")(operands, results, params)


@checking_rules.define(lax.cond_p)
def _cond(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    index, *others = operands
    branches = params["branches"]
    if not branches:
        raise Misfit("`branches` is empty")
    if index.shape or index.dtype != np.int32:
        raise Misfit(f"the index has type {_short(index)}, not int32[]")
    for place, branch in enumerate(branches):
        _check_types(f"operands of branch {place}", others, branch.in_avals)
        _check_types(f"results of branch {place}", branch.out_avals, results)


@checking_rules.define(lax.while_p)
def _while(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    condition, body = params["cond_jaxpr"], params["body_jaxpr"]
    given = WhileLayout.of(params).operands(operands)
    _check_types("operands of `cond_jaxpr`", given.of_cond, condition.in_avals)
    _check_types("operands of `body_jaxpr`", given.of_body, body.in_avals)
    # One boolean, or one for each of many examples, whose dimensions are the first of all values.
    (goes_on,) = condition.out_avals
    _check_types("results of `cond_jaxpr`", [goes_on], [ShapedArray(goes_on.shape, np.bool_)])
    for place, aval in enumerate(given.carry):
        if aval.shape[: goes_on.ndim] != goes_on.shape:
            raise Misfit(
                f"part {place} of the carry has type {_short(aval)}, but the condition gives "
                f"{_short(goes_on)}, whose dimensions must be the first ones of all values carried"
            )
    _check_types("results of `body_jaxpr`", body.out_avals, given.carry)


@checking_rules.define(lax.scan_p)
def _scan(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    body, layout = params["jaxpr"], ScanLayout.of(params)
    consts, carry, xs = layout.operands(operands)
    for place, aval in enumerate(xs):
        if not aval.shape or aval.shape[0] != params["length"]:
            raise Misfit(
                f"operand {place} that is scanned over has type {_short(aval)}; its leading "
                f"dimension must have the size {params['length']}"
            )
    slices = [sliced_aval(aval) for aval in xs]
    _check_types("operands of `jaxpr`", [*consts, *carry, *slices], body.in_avals)
    _check_types("carry that `jaxpr` returns", layout.results(body.out_avals).carry, carry)


@checking_rules.define(lax.linear_solve_p)
def _linear_solve(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    programs = params["jaxprs"]
    consts, right_hand_sides = split_operands(operands, params["const_lengths"])
    count = len(right_hand_sides)
    for name, program, given in zip(programs._fields, programs, consts, strict=True):
        if program is not None:
            _check_types(f"operands of `{name}`", [*given, *right_hand_sides], program.in_avals)
            _check_types(f"results of `{name}`", program.out_avals[:count], results[:count])


# ---- messages ----


def _short(aval: AbstractValue) -> str:
    return aval.str_short()


def _listed(effects: frozenset) -> str:
    return "{" + ", ".join(sorted(map(str, effects))) + "}"


def _at(equation: Equation) -> str:
    return f"\n\nin the equation\n\n{equation}\n\nfrom {summarize(equation.source_info)}"


def _in(olympuspr: Olympuspr) -> str:
    return f"\n\nin the program\n\n{olympuspr}"
