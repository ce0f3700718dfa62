# SPDX-License-Identifier: Apache-2.0
"""Cuts before gathers that take elements repeatedly, for the CPU's compiler.

XLA fuses the computation of an array into the gather from it: ``sin(x)[places]``. The fused
function computes an element once for each place that takes it: four times if there are four times
as many places as elements. XLA itself avoids this for the few operations that it considers
expensive. OLYMPUS expands the sine and many other functions to cheap operations, and short sums are
fused as well.

This pass puts an optimization barrier before such gathers. As with the cuts of fusions.py, the
pass of XLA that removes barriers is switched off.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation, Olympuspr, olympusprs_in_params

from ..cpu.choice import is_static
from .fusions import EXPENSIVE, Cuts, is_fused, with_barriers

__all__ = ["cut_before_gathers", "has_gathers"]

# Smaller gathers are not worth another operation.
_SMALLEST = 4096
# The least number of places per element for which a cut pays off.
_LEAST_REPETITION = 1.5
# These operations take little more time than writing and reading their results.
_CHEAP = frozenset({"div", "rem", "rsqrt", "sqrt"})


def has_gathers(olympuspr: Olympuspr) -> bool:
    """Returns whether a program gathers elements."""
    return any(equation.primitive is lax.gather_p for equation in olympuspr.eqns)


def cut_before_gathers(
    olympuspr: Olympuspr, platforms: Sequence[str]
) -> tuple[Olympuspr, Cuts | None]:
    """Cuts a program before gathers that take elements of expensive functions repeatedly.

    Args:
      olympuspr: the program.
      platforms: the program's platforms; only the CPU's compiler needs cuts.

    Returns:
      The program with optimization barriers, and the cuts. If there are no such gathers, the
      unchanged program and None.
    """
    if tuple(platforms) != ("cpu",) or not has_gathers(olympuspr):
        return olympuspr, None
    definitions = {var: place for place, each in enumerate(olympuspr.eqns) for var in each.outvars}
    places = {
        definitions[equation.invars[0]]
        for equation in olympuspr.eqns
        if equation.primitive is lax.gather_p
        and equation.invars[0] in definitions
        and _repeats_elements(equation)
        and _is_fused_and_expensive(equation.invars[0], olympuspr.eqns, definitions)
    }
    if not places:
        return olympuspr, None
    cuts = [olympuspr.eqns[place] for place in sorted(places)]
    return with_barriers(olympuspr, places), Cuts(cuts, len(olympuspr.eqns), len(olympuspr.eqns))


def _repeats_elements(equation: Equation) -> bool:
    taken, given = equation.outvars[0].aval.shape, equation.invars[0].aval.shape
    if not is_static(taken) or not is_static(given) or math.prod(taken) < _SMALLEST:
        return False
    return math.prod(taken) >= _LEAST_REPETITION * math.prod(given)


def _is_fused_and_expensive(
    value: Any, equations: Sequence[Equation], definitions: dict[Any, int]
) -> bool:
    """Returns whether a fused function that computes the value has an expensive operation."""
    waiting, known = [value], set()
    while waiting:
        place = definitions.get(waiting.pop())
        if place is None or place in known:
            continue
        known.add(place)
        equation = equations[place]
        if not is_fused(equation.primitive):
            continue
        if _is_expensive(equation):
            return True
        waiting += equation.invars
    return False


def _is_expensive(equation: Equation) -> bool:
    primitive = equation.primitive
    if primitive.family == "reductions":
        return True
    return (primitive.name in EXPENSIVE and primitive.name not in _CHEAP) or any(
        any(map(_is_expensive, program.eqns)) for program in olympusprs_in_params(equation.params)
    )
