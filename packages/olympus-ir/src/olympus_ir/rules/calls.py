# SPDX-License-Identifier: Apache-2.0
"""Rules for checking, dead code and printing of calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import lax
from ..diagnostics.source_info import function_name
from ..lax.calls.composites import composite_p
from ..programs.checker import Misfit, check_types, checking_rules
from ..programs.dead_code import chosen, dce_closed, dead_code_rules, reduced_equation
from ..programs.olympuspr import Equation, close_olympuspr
from ..programs.print_rules import Parameters, printing_rules
from ..types import dtypes
from ..types.avals import AbstractValue
from ..types.placement import UNSPECIFIED

if TYPE_CHECKING:
    from ..programs.printer import Printer


# ---- checking ----


def _call_rule(key: str) -> Callable[..., None]:
    def rule(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
        program = params[key]
        check_types(f"operands of `{key}`", operands, program.in_avals)
        check_types(f"results of `{key}`", results, program.out_avals)

    return rule


checking_rules.define(lax.closed_call_p, _call_rule("call_jaxpr"))
checking_rules.define(lax.custom_jvp_call_p, _call_rule("call_jaxpr"))
checking_rules.define(lax.custom_vjp_call_p, _call_rule("call_jaxpr"))


checking_rules.define(composite_p, _call_rule("jaxpr"))


@checking_rules.define(lax.jit_p)
def _check_jit(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
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
def _check_checkpoint(operands: Sequence, results: Sequence, params: dict[str, Any]) -> None:
    if params["jaxpr"].constvars:
        raise Misfit("the program of a checkpoint has constants; they must be operands")
    _call_rule("jaxpr")(operands, results, params)


# ---- dead code ----


@dead_code_rules.define(lax.jit_p)
def _jit(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    program, used = dce_closed(params["jaxpr"], used_results, instantiate=params["keep_unused"])
    changed = {**params, "jaxpr": program}
    for key, flags in (
        ("in_shardings", used),
        ("in_layouts", used),
        ("donated_invars", used),
        ("out_shardings", used_results),
        ("out_layouts", used_results),
    ):
        changed[key] = tuple(chosen(params[key], flags))
    return reduced_equation(equation, used, used_results, changed, program.effects)


@dead_code_rules.define(lax.closed_call_p)
def _closed_call(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    program, used = dce_closed(equation.params["call_jaxpr"], used_results)
    params = {**equation.params, "call_jaxpr": program}
    return reduced_equation(equation, used, used_results, params, program.effects)


@dead_code_rules.define(lax.checkpoint_p)
def _checkpoint(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    closed = close_olympuspr(equation.params["jaxpr"])
    program, used = dce_closed(closed, used_results)
    params = {**equation.params, "jaxpr": program.jaxpr}
    return reduced_equation(equation, used, used_results, params, program.effects)


@dead_code_rules.define(lax.optimization_barrier_p)
def _optimization_barrier(
    equation: Equation, used_results: list[bool]
) -> tuple[Equation, list[bool]]:
    return reduced_equation(equation, used_results, used_results, equation.params, equation.effects)


@dead_code_rules.define(lax.custom_jvp_call_p)
def _custom_jvp_call(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    jvp = _ChosenResults(equation.params["jvp_jaxpr_fun"], used_results * 2)
    return _reduced_custom_call(equation, used_results, {"jvp_jaxpr_fun": jvp})


@dead_code_rules.define(lax.custom_vjp_call_p)
def _custom_vjp_call(equation: Equation, used_results: list[bool]) -> tuple[Equation, list[bool]]:
    params = equation.params
    if params["symbolic_zeros"]:  # the rule may test which cotangents are zero
        return equation, [True] * len(equation.invars)
    changed = {
        "fwd_jaxpr_thunk": _ChosenResults(params["fwd_jaxpr_thunk"], used_results),
        "bwd": _GivenCotangents(params["bwd"], used_results, params["call_jaxpr"].out_avals),
    }
    return _reduced_custom_call(equation, used_results, changed)


def _reduced_custom_call(
    equation: Equation, used_results: list[bool], changed: dict[str, Any]
) -> tuple[Equation, list[bool]]:
    """Removes the unused results of a call that has a custom derivative rule.

    Args:
      equation: the call.
      used_results: for each result, whether it is used.
      changed: the parameters that replace those of the call.

    Returns:
      The new equation; and for each operand, whether it is used. All operands are used, because the
      derivative rule takes them all.
    """
    used = [True] * len(equation.invars)
    if all(used_results):
        return equation, used
    program, _ = dce_closed(equation.params["call_jaxpr"], used_results, instantiate=True)
    params = {**equation.params, **changed, "call_jaxpr": program}
    return reduced_equation(equation, used, used_results, params, program.effects)


class _ChosenResults:
    """Derivative rule that omits unused results.

    Args:
      rule: a function of flat values.
      kept: for each of the last results of the rule, whether it is returned. The results before
        them are all returned.
    """

    __slots__ = ("kept", "rule")

    def __init__(self, rule: Callable[..., Sequence[Any]], kept: Sequence[bool]) -> None:
        self.rule = rule
        self.kept = kept

    @property
    def __name__(self) -> str:
        return function_name(self.rule)

    def __call__(self, *values: Any) -> list[Any]:
        results = self.rule(*values)
        first = len(results) - len(self.kept)
        return [*results[:first], *chosen(results[first:], self.kept)]


class _GivenCotangents:
    """Backward pass that receives the cotangents of the used results only.

    Args:
      bwd: the backward pass, a function of flat residuals and cotangents.
      used: for each result, whether its cotangent is passed; the cotangents of the other results
        are zero.
      out_avals: the types of the results.
    """

    __slots__ = ("bwd", "out_avals", "used")

    def __init__(
        self,
        bwd: Callable[..., Sequence[Any]],
        used: Sequence[bool],
        out_avals: Sequence[AbstractValue],
    ) -> None:
        self.bwd = bwd
        self.used = used
        self.out_avals = out_avals

    @property
    def __name__(self) -> str:
        return function_name(self.bwd)

    def __call__(self, *values: Any) -> Sequence[Any]:
        first = len(values) - sum(self.used)
        remaining = iter(values[first:])
        cotangents = [
            next(remaining) if used else _zeros(aval.to_tangent_aval())
            for used, aval in zip(self.used, self.out_avals, strict=True)
        ]
        return self.bwd(*values[:first], *cotangents)


def _zeros(aval: Any) -> Any:
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    return lax.full(aval.shape, 0, aval.dtype)


# ---- printing ----


def _jit_parameters(equation: Equation, printer: Printer) -> Parameters:
    params = equation.params
    printer.adopt_names(params["jaxpr"].jaxpr, equation)
    shown = [("name", params["name"])]
    for name, value in sorted(params.items()):
        if name != "name" and not _is_default(value):
            shown.append((name, value))
    return shown


def _is_default(value: Any) -> bool:
    """Returns whether a parameter of `jit` has its default value, for every operand."""
    if isinstance(value, tuple):
        return all(item is None or item is False or item is UNSPECIFIED for item in value)
    return value is None or value is False or getattr(value, "empty", False) is True


def _custom_jvp_parameters(equation: Equation, printer: Printer) -> Parameters:
    params = equation.params
    return [
        ("name", params["call_jaxpr"].debug_info.func_name),
        ("call_jaxpr", params["call_jaxpr"]),
        ("jvp", function_name(params["jvp_jaxpr_fun"])),
        ("symbolic_zeros", params["symbolic_zeros"]),
    ]


def _custom_vjp_parameters(equation: Equation, printer: Printer) -> Parameters:
    params = equation.params
    return [
        ("name", params["call_jaxpr"].debug_info.func_name),
        ("bwd", function_name(params["bwd"])),
        ("call_jaxpr", params["call_jaxpr"]),
        ("fwd", function_name(params["fwd_jaxpr_thunk"])),
        ("symbolic_zeros", params["symbolic_zeros"]),
    ]


printing_rules.define(lax.jit_p, _jit_parameters)
printing_rules.define(lax.custom_jvp_call_p, _custom_jvp_parameters)
printing_rules.define(lax.custom_vjp_call_p, _custom_vjp_parameters)
