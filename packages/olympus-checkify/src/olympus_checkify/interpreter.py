# SPDX-License-Identifier: Apache-2.0
"""Runs programs with checks: applies the rule of each equation."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olympus_ir.diagnostics.source_info import user_frames
from olympus_ir.programs.evaluation import olympuspr_as_fun, run_equations
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import current
from olympus_ir.settings import config

from .errors import Error, ErrorEffect, Site, init_error, new_code
from .tables import Enabled, error_rules, plain


class _Numbers(threading.local):
    """The codes of the checks of the running program, by (equation, kind, ordinal)."""

    of_program: dict[Any, Any] = {}  # noqa: RUF012 - replaced in `run`, never filled


_numbers = _Numbers()


def code_of(equation: Equation, site: Site, ordinal: int) -> int:
    """Returns the code of a check of an equation.

    A program may be traced several times before it is compiled. Every trace uses the codes of the
    first trace, which are in program order. If several checks fail, the first failure is shown.
    """
    key = (id(equation), site.kind, ordinal)
    code = _numbers.of_program.get(key)
    if code is None:
        code = _numbers.of_program[key] = new_code()
    return code


def run(
    closed: ClosedOlympuspr,
    enabled: Enabled,
    error: Error,
    args: Sequence[Any],
    call: Equation | None = None,
) -> tuple[Error, list[Any]]:
    """Runs a program under the current interpreter, with checks.

    Args:
      closed: the program.
      enabled: the kinds of errors to look for.
      error: the error that has occurred so far.
      args: the program's operands.
      call: the equation that calls the program. If it is given, the checks of this call get
        separate codes, and operations without a line of the user's program get the line of the
        call.

    Returns:
      The error, and the results.
    """
    numbers = closed.memo.setdefault(("numbers of checks", enabled, id(call)), {})
    program = closed.jaxpr
    if call is not None:
        program = program.replace(
            eqns=[_kept_with_line(equation, call, numbers) for equation in program.eqns]
        )

    def apply(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
        nonlocal error
        rule = error_rules.find(equation.primitive) or plain
        error, results = rule(equation, enabled, error, operands)
        return results

    outer_numbers = _numbers.of_program
    _numbers.of_program = numbers
    try:
        results = run_equations(program, closed.consts, args, apply)
    finally:
        _numbers.of_program = outer_numbers
    return error, results


def with_line_of_call(equation: Equation, call: Equation) -> Equation:
    """Returns an equation with a line of user code: its own line, or else the line of the call."""
    has_line = next(iter(user_frames(equation.source_info)), None) is not None
    return equation if has_line else equation.replace(source_info=call.source_info)


def _kept_with_line(equation: Equation, call: Equation, numbers: dict[Any, Any]) -> Equation:
    """Returns the same equation with a line each time, because the codes of checks depend on it."""
    key = ("equation", id(equation))
    if key not in numbers:
        numbers[key] = with_line_of_call(equation, call)
    return numbers[key]


# ---- programs inside programs ----


def effects_of(closed: ClosedOlympuspr, enabled: Enabled) -> tuple[ErrorEffect, ...]:
    """Returns the error effects that a program may have, sorted."""

    def find() -> tuple[ErrorEffect, ...]:
        found: tuple[ErrorEffect, ...] = ()

        def traced(*args: Any) -> Sequence[Any]:
            nonlocal found
            error, results = run(closed, enabled, init_error, args)
            found = error.effects
            return results

        trace_to_closed(traced, closed.in_avals)
        return found

    return _memoized(closed, ("error effects", enabled), find)


def with_errors(
    closed: ClosedOlympuspr,
    enabled: Enabled,
    effects: Sequence[ErrorEffect],
    reduced: bool = True,
) -> tuple[ClosedOlympuspr, Mapping[int, Site]]:
    """Returns a program that also takes and returns the entries of some effects.

    The entries precede the other operands and the other results.

    Args:
      closed: the program.
      enabled: the kinds of errors to look for.
      effects: the effects.
      reduced: whether errors of several devices are reduced to one.

    Returns:
      The program, and its checks by code.
    """

    def make() -> tuple[ClosedOlympuspr, Mapping[int, Site]]:
        avals = [aval for effect in effects for aval in effect.avals(current.axes.varying)]
        count = len(avals)
        metadata: Mapping[int, Site] = {}

        def traced(*args: Any) -> Sequence[Any]:
            nonlocal metadata
            before = init_error.with_leaves(effects, args[:count])
            error, results = run(closed, enabled, before, args[count:])
            if reduced:
                error = error.reduced()
            metadata = error._metadata
            return [*error.leaves(effects), *results]

        return trace_to_closed(traced, [*avals, *closed.in_avals]), metadata

    return _memoized(closed, ("with errors", enabled, tuple(effects), reduced), make)


def _memoized(closed: ClosedOlympuspr, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
    key = (*key, current.axes, config.trace_context())
    found = closed.memo.get(key)
    if found is None:
        found = closed.memo[key] = make()
    return found


def call_with_errors(
    closed: ClosedOlympuspr,
    enabled: Enabled,
    effects: Sequence[ErrorEffect],
    reduced: bool = True,
) -> tuple[Callable[..., list[Any]], Mapping[int, Site]]:
    """Returns the program of `with_errors` as a function of flat operands, and its checks."""
    program, metadata = with_errors(closed, enabled, effects, reduced)
    return olympuspr_as_fun(program), metadata
