# SPDX-License-Identifier: Apache-2.0
"""Running a program with checks: each equation, and then what it may have done wrong."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from olympus_ir.programs.evaluation import bind_equation, olympuspr_as_fun
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Literal, Var
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import current
from olympus_ir.settings import config
from olympus_ir.types.avals import get_aval

from .errors import Error, ErrorCategory, ErrorEffect, Site, init_error, new_code

Enabled = frozenset[ErrorCategory]

# From a primitive to `rule(equation, enabled, error, operands) -> (error, results)`.
error_rules: dict[Any, Callable[..., tuple[Error, Sequence[Any]]]] = {}


def plain(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> tuple[Error, Sequence[Any]]:
    """The rule of equations that cannot fail."""
    return error, bind_equation(equation, operands)


class _Numbers(threading.local):
    """The numbers of the checks of the program that runs: (equation, kind, ordinal) -> number."""

    of_program: dict[Any, int] = {}  # noqa: RUF012 - replaced in `run`, never filled


_numbers = _Numbers()


def code_of(equation: Equation, site: Site, ordinal: int) -> int:
    """The number of a check of what an equation does.

    A program may run several times until it is compiled. The numbers of the first time stay, in
    the order of the program: of several errors, the first is shown.
    """
    key = (id(equation), site.kind, ordinal)
    code = _numbers.of_program.get(key)
    if code is None:
        code = _numbers.of_program[key] = new_code()
    return code


def run(
    closed: ClosedOlympuspr, enabled: Enabled, error: Error, args: Sequence[Any]
) -> tuple[Error, list[Any]]:
    """Runs a program under the current interpreter, with checks.

    Args:
      closed: the program.
      enabled: the kinds of errors to look for.
      error: what has occurred before.
      args: the program's operands.

    Returns:
      What has occurred, and the results.
    """
    # The rules import this module.
    from . import mapped, rules  # noqa: F401

    program = closed.jaxpr
    environment: dict[Var, Any] = dict(zip(program.constvars, closed.consts, strict=True))
    environment.update(zip(program.invars, args, strict=True))

    def value(atom: Any) -> Any:
        return atom.val if isinstance(atom, Literal) else environment[atom]

    outer_source, outer_names = current.source, current.name_stack
    outer_numbers = _numbers.of_program
    numbers = closed.memo.setdefault(("numbers of checks", enabled), {})
    try:
        for equation in program.eqns:
            source = equation.source_info
            if outer_names:
                source = source._replace(name_stack=outer_names + source.name_stack)
            current.source, current.name_stack = source, source.name_stack
            _numbers.of_program = numbers
            rule = error_rules.get(equation.primitive, plain)
            error, results = rule(equation, enabled, error, [value(a) for a in equation.invars])
            environment.update(zip(equation.outvars, results, strict=True))
    finally:
        current.source, current.name_stack = outer_source, outer_names
        _numbers.of_program = outer_numbers
    return error, [value(atom) for atom in program.outvars]


# ---- programs inside of programs ----


def effects_of(closed: ClosedOlympuspr, enabled: Enabled) -> tuple[ErrorEffect, ...]:
    """The effects that a program may have, in order."""

    def find() -> tuple[ErrorEffect, ...]:
        found: tuple[ErrorEffect, ...] = ()

        def traced(*args: Any) -> Sequence[Any]:
            nonlocal found
            error, results = run(closed, enabled, init_error, args)
            found = error.effects
            return results

        trace_to_closed(traced, closed.in_avals)
        return found

    return _remembered(closed, ("error effects", enabled), find)


def with_errors(
    closed: ClosedOlympuspr,
    enabled: Enabled,
    effects: Sequence[ErrorEffect],
    reduced: bool = True,
) -> tuple[ClosedOlympuspr, Mapping[int, Site]]:
    """A program that takes what has occurred of some effects first, and returns it first.

    Args:
      closed: the program.
      enabled: the kinds of errors to look for.
      effects: the effects.
      reduced: whether it returns one error where it has found some on several devices.

    Returns:
      The program, and the checks in it by number.
    """

    def make() -> tuple[ClosedOlympuspr, Mapping[int, Site]]:
        places = init_error.with_effects(effects)
        count = len(places.leaves(effects))
        metadata: Mapping[int, Site] = {}

        def traced(*args: Any) -> Sequence[Any]:
            nonlocal metadata
            before = init_error.with_leaves(effects, args[:count])
            error, results = run(closed, enabled, before, args[count:])
            if reduced:
                error = error.reduced()
            metadata = error._metadata
            return [*error.leaves(effects), *results]

        avals = [_strong(value) for value in places.leaves(effects)]
        return trace_to_closed(traced, [*avals, *closed.in_avals]), metadata

    return _remembered(closed, ("with errors", enabled, tuple(effects), reduced), make)


def _strong(value: Any) -> Any:
    aval: Any = get_aval(value)
    return aval.strip_weak_type()


def _remembered(closed: ClosedOlympuspr, key: tuple[Any, ...], make: Callable[[], Any]) -> Any:
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
    """As `with_errors`, as a function of flat operands."""
    program, metadata = with_errors(closed, enabled, effects, reduced)
    return olympuspr_as_fun(program), metadata
