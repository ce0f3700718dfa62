# SPDX-License-Identifier: Apache-2.0
"""Counts of the equations of programs, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from olympus_ir.diagnostics.source_info import summarize
from olympus_ir.programs.olympuspr import ClosedOlympuspr, DropVar, Equation, Olympuspr, Var
from olympus_ir.programs.olympuspr import subolympusprs as _subprograms

__all__ = [
    "all_eqns",
    "collect_eqns",
    "count_eqns",
    "eqns_using_var",
    "eqns_using_var_with_invar_index",
    "histogram",
    "olympuspr_and_binder_in_params",
    "primitives",
    "primitives_by_shape",
    "primitives_by_source",
    "source_locations",
    "var_defs_and_refs",
]


def all_eqns(
    jaxpr: Olympuspr, revisit_inner_jaxprs: bool = True
) -> Iterator[tuple[Olympuspr, Equation]]:
    """Yields the equations of a program and of the programs in its equations.

    Args:
      jaxpr: the program.
      revisit_inner_jaxprs: whether a program that occurs several times is visited as often.

    Returns:
      An iterator of pairs of a program and one of its equations.
    """
    return _all_equations(jaxpr, None if revisit_inner_jaxprs else set())


def _all_equations(
    program: Olympuspr, visited: set[Olympuspr] | None
) -> Iterator[tuple[Olympuspr, Equation]]:
    for equation in program.eqns:
        yield program, equation
    for inner in _subprograms(program):
        if visited is None:
            yield from _all_equations(inner, None)
        elif inner not in visited:
            visited.add(inner)
            yield from _all_equations(inner, visited)


def collect_eqns(jaxpr: Olympuspr, key: Callable[[Equation], Any]) -> dict[Any, list[Equation]]:
    """Returns all equations, grouped by a function of an equation."""
    groups: dict[Any, list[Equation]] = {}
    for _, equation in all_eqns(jaxpr):
        groups.setdefault(key(equation), []).append(equation)
    return groups


def count_eqns(jaxpr: Olympuspr, revisit_inner_jaxprs: bool = True) -> int:
    """Returns the number of equations; see `all_eqns`."""
    return sum(1 for _ in all_eqns(jaxpr, revisit_inner_jaxprs))


def histogram(
    jaxpr: Olympuspr,
    key: Callable[[Equation], Any],
    key_fmt: Callable[[Any], Any] = lambda key: key,
) -> dict[Any, int]:
    """Counts the equations of a program in groups.

    Args:
      jaxpr: the program.
      key: a function from an equation to its group.
      key_fmt: a function from a group to its key in the result.
    """
    return {key_fmt(name): len(group) for name, group in collect_eqns(jaxpr, key).items()}


def primitives(jaxpr: Olympuspr) -> dict[str, int]:
    """Counts the equations of each primitive.

    Example:
      >>> import olympus
      >>> primitives(olympus.make_olympuspr(lambda x: x * x + x)(1.0).jaxpr)
      {'mul': 1, 'add': 1}
    """
    return histogram(jaxpr, lambda equation: equation.primitive.name)


def primitives_by_source(jaxpr: Olympuspr) -> dict[str, int]:
    """Counts the equations of each primitive at each line."""
    return histogram(
        jaxpr,
        lambda equation: (equation.primitive.name, summarize(equation.source_info)),
        " @ ".join,
    )


def primitives_by_shape(jaxpr: Olympuspr) -> dict[str, int]:
    """Counts the equations of each primitive with each type of results.

    Example:
      >>> import olympus
      >>> primitives_by_shape(olympus.make_olympuspr(lambda x: x * x)(1.0).jaxpr)
      {'mul :: float32[]': 1}
    """

    def key(equation: Equation) -> tuple[str, str]:
        return equation.primitive.name, " ".join(map(_type_of, equation.outvars))

    return histogram(jaxpr, key, " :: ".join)


def _type_of(variable: Var) -> str:
    return "*" if isinstance(variable, DropVar) else variable.aval.str_short()


def source_locations(jaxpr: Olympuspr) -> dict[str, int]:
    """Counts the equations at each line."""
    return histogram(jaxpr, lambda equation: summarize(equation.source_info))


def eqns_using_var_with_invar_index(jaxpr: Olympuspr, invar: Var) -> Iterator[tuple[Equation, int]]:
    """Yields the equations with a variable among their operands, and its first position."""
    for equation in jaxpr.eqns:
        for index, operand in enumerate(equation.invars):
            if operand is invar:
                yield equation, index
                break


def eqns_using_var(jaxpr: Olympuspr, invar: Var) -> Iterator[Equation]:
    """Yields the equations that use a variable; of those with programs, the equations inside."""
    for equation, index in eqns_using_var_with_invar_index(jaxpr, invar):
        inner = list(_programs_among(equation.params))
        if not inner:
            yield equation
        for program in inner:
            # The operands of a choice begin with the index of the branch, which no branch takes.
            first = len(equation.invars) - len(program.invars)
            if index >= first:
                yield from eqns_using_var(program, program.invars[index - first])


def _programs_among(params: Mapping[str, Any]) -> Iterator[Olympuspr]:
    for value in params.values():
        for program in value if isinstance(value, tuple) else (value,):
            if isinstance(program, ClosedOlympuspr):
                yield program.jaxpr
            elif isinstance(program, Olympuspr):
                yield program


def olympuspr_and_binder_in_params(
    params: Mapping[str, Any], index: int
) -> Iterator[tuple[Olympuspr, Var]]:
    """Yields the programs among the parameters of an equation, each with one of its inputs.

    Args:
      params: the parameters.
      index: the position of the input.

    Raises:
      RuntimeError: a program has fewer inputs.
    """
    for program in _programs_among(params):
        if index >= len(program.invars):
            raise RuntimeError(f"a program has {len(program.invars)} inputs, no input {index}")
        yield program, program.invars[index]


def var_defs_and_refs(jaxpr: Olympuspr) -> Any:
    """Returns where each variable of a program is defined and used.

    Args:
      jaxpr: the program.

    Returns:
      A pair of the program and a list of triples: a variable, the equation that defines it (None
      for an input), and the equations that use it (None for a use as a result). If equations have
      programs, a list of that pair and of the values for these programs.
    """
    definitions: dict[Var, Equation | None] = dict.fromkeys((*jaxpr.constvars, *jaxpr.invars))
    for equation in jaxpr.eqns:
        for variable in equation.outvars:
            if not isinstance(variable, DropVar):
                definitions[variable] = equation
    uses: dict[Var, list[Equation | None]] = {variable: [] for variable in definitions}
    for user in (*jaxpr.eqns, None):
        for atom in jaxpr.outvars if user is None else user.invars:
            if isinstance(atom, Var):
                uses[atom].append(user)
    found = [(variable, definitions[variable], uses[variable]) for variable in definitions]
    inner = [var_defs_and_refs(program) for program in _subprograms(jaxpr)]
    return [(jaxpr, found), *inner] if inner else (jaxpr, found)
