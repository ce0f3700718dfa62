# SPDX-License-Identifier: Apache-2.0
"""Reduction of failing programs: parts are removed as long as the failure stays."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterator

from .drafts import elements
from .programs import Function, Program, Statement, Value

__all__ = ["shrunk", "smaller"]


def shrunk(program: Program, fails: Callable[[Program], bool], tries: int = 200) -> Program:
    """Returns a smaller program that still fails.

    Args:
      program: a program that fails.
      fails: a function that returns whether a program fails in the same way.
      tries: the largest number of calls of ``fails``.

    Example:
      >>> from olympus_testing.compositions import random_program
      >>> shrunk(random_program(0, 1), lambda program: True).function.statements
      ()
    """
    changed = True
    while changed:
        changed = False
        for candidate in smaller(program):
            if tries <= 0:
                return program
            tries -= 1
            if fails(candidate):
                program, changed = candidate, True
                break
    return program


def smaller(program: Program) -> Iterator[Program]:
    """Yields programs with one part removed, largest parts first."""
    stack = program.stack
    for at in range(len(stack)):
        # An outer step depends on the result types of the inner step. So a step can be removed
        # alone only if the types stay the same. It can always be removed together with all later
        # steps.
        if stack[at].results == (stack[at - 1].results if at else _results(program)):
            yield dataclasses.replace(program, stack=stack[:at] + stack[at + 1 :])
        yield dataclasses.replace(program, stack=stack[:at])
    yield from _fewer_results(program)
    function = program.function
    for at in reversed(range(len(function.statements))):
        yield from _as_arguments(program, at)
    for statements in _smaller_statements(function):
        yield _pruned(
            dataclasses.replace(
                program, function=dataclasses.replace(function, statements=statements)
            )
        )


def _results(program: Program) -> tuple[object, ...]:
    return tuple(program.function.kind(name) for name in program.function.results)


def _fewer_results(program: Program) -> Iterator[Program]:
    function = program.function
    if program.stack or len(function.results) < 2:
        return
    for name in function.results:
        yield _pruned(
            dataclasses.replace(program, function=dataclasses.replace(function, results=(name,)))
        )


def _as_arguments(program: Program, at: int) -> Iterator[Program]:
    """Yields the program with a statement removed; its variables become arguments."""
    function = program.function
    targets = function.statements[at].targets
    if any(step.text.count(value.name) for step in program.stack for value in function.parameters):
        same_parameters = _with_constants(program, at)
        yield _pruned(same_parameters)
        return
    chooser = random.Random(0)
    yield _pruned(
        dataclasses.replace(
            program,
            function=dataclasses.replace(
                function,
                parameters=(*function.parameters, *targets),
                statements=function.statements[:at] + function.statements[at + 1 :],
            ),
            arguments=(
                *program.arguments,
                *(elements(chooser, value.kind) for value in targets),
            ),
        )
    )


def _with_constants(program: Program, at: int) -> Program:
    """Returns the program with one statement replaced by constants or arguments."""
    function = program.function
    chooser = random.Random(0)
    statements = []
    for value in function.statements[at].targets:
        same = [other for other in function.parameters if other.kind == value.kind]
        if same:
            statements.append(Statement((value,), "$0", (same[0].name,)))
            continue
        dtype = "bool_" if value.kind.dtype == "bool" else value.kind.dtype
        text = (
            f"jnp.array({elements(chooser, value.kind)}, jnp.{dtype}).reshape({value.kind.shape})"
        )
        statements.append(Statement((value,), text))
    if function.statements[at].operands == () or function.statements[at].template == "$0":
        return program
    kept = (*function.statements[:at], *statements, *function.statements[at + 1 :])
    return dataclasses.replace(program, function=dataclasses.replace(function, statements=kept))


def _smaller_statements(function: Function) -> Iterator[tuple[Statement, ...]]:
    """Yields the statements of a function, each time with one inner function reduced."""
    statements = function.statements
    for at, statement in enumerate(statements):
        for index, body in enumerate(statement.bodies):
            for less in _smaller_bodies(body):
                bodies = (*statement.bodies[:index], less, *statement.bodies[index + 1 :])
                changed = dataclasses.replace(statement, bodies=bodies)
                yield (*statements[:at], changed, *statements[at + 1 :])


def _smaller_bodies(function: Function) -> Iterator[Function]:
    values: list[Value] = list(function.parameters)
    for at, statement in enumerate(function.statements):
        if statement.template != "$0":
            replaced = []
            for value in statement.targets:
                same = [other for other in values if other.kind == value.kind]
                if same:
                    replaced.append(Statement((value,), "$0", (same[-1].name,)))
            if len(replaced) == len(statement.targets):
                kept = (*function.statements[:at], *replaced, *function.statements[at + 1 :])
                yield _without_unread(dataclasses.replace(function, statements=kept))
        values += statement.targets
    for statements in _smaller_statements(function):
        yield _without_unread(dataclasses.replace(function, statements=statements))


def _without_unread(function: Function) -> Function:
    needed, kept = set(function.results), []
    for statement in reversed(function.statements):
        if any(value.name in needed for value in statement.targets):
            needed |= statement.reads()
            kept.append(statement)
    return dataclasses.replace(function, statements=tuple(reversed(kept)))


def _pruned(program: Program) -> Program:
    """Returns the program without statements and arguments that nothing reads."""
    function = _without_unread(program.function)
    if program.stack:
        return dataclasses.replace(program, function=function)
    read = set(function.results)
    for statement in function.statements:
        read |= statement.reads()
    kept = [at for at, value in enumerate(function.parameters) if value.name in read] or [0]
    parameters = tuple(function.parameters[at] for at in kept)
    return dataclasses.replace(
        program,
        function=dataclasses.replace(function, parameters=parameters),
        arguments=tuple(program.arguments[at] for at in kept),
    )
