# SPDX-License-Identifier: Apache-2.0
"""Optimization barriers before updates in place, for XLA's CPU compiler.

Programs on grids compute the new values of a part of an array from shifted views of the same array:
``x.at[1:-1].set((x[:-2] + x[2:]) / 2)``. XLA fuses the computation into the update, which works in
place. The views would see elements that are already new, so XLA writes each view to memory first,
and the fused update runs on one thread. Computing the new values into separate memory, from all
views at once, and copying them into the array is 4 to 6 times as fast.

This pass puts an optimization barrier before such updates. As with the cuts of fusions.py, the
pass of XLA that removes barriers is switched off. The application "heat on a grid" of the
benchmarks covers this module.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation, Olympuspr

from .fusions import MOVING, Cuts, is_fused, with_barriers

__all__ = ["cut_before_updates", "has_updates"]

# Smaller updates are not worth another operation.
_SMALLEST = 4096

_UPDATES = frozenset((lax.scatter_p, lax.dynamic_update_slice_p))


def has_updates(olympuspr: Olympuspr) -> bool:
    """Returns whether a program updates a window of an array."""
    return any(equation.primitive in _UPDATES for equation in olympuspr.eqns)


def cut_before_updates(
    olympuspr: Olympuspr, platforms: Sequence[str]
) -> tuple[Olympuspr, Cuts | None]:
    """Cuts a program before updates of arrays by values that depend on views of these arrays.

    Args:
      olympuspr: the program.
      platforms: the program's platforms; only the CPU's compiler needs cuts.

    Returns:
      The program with optimization barriers, and the cuts. If there are no such updates, the
      unchanged program and None.
    """
    if tuple(platforms) != ("cpu",) or not has_updates(olympuspr):
        return olympuspr, None
    definitions = {var: place for place, each in enumerate(olympuspr.eqns) for var in each.outvars}
    places = set()
    for equation in olympuspr.eqns:
        if equation.primitive in _UPDATES and _is_one_window(equation):
            operand, update = equation.invars[0], equation.invars[_update_operand(equation)]
            if update in definitions and _is_seen(operand, update, olympuspr.eqns, definitions):
                places.add(definitions[update])
    if not places:
        return olympuspr, None
    cuts = [olympuspr.eqns[place] for place in sorted(places)]
    return with_barriers(olympuspr, places), Cuts(cuts, len(olympuspr.eqns), len(olympuspr.eqns))


def _update_operand(equation: Equation) -> int:
    return 2 if equation.primitive is lax.scatter_p else 1


def _is_one_window(equation: Equation) -> bool:
    """Returns whether an update writes one window that is large enough."""
    shape = equation.invars[_update_operand(equation)].aval.shape
    if not all(type(size) is int for size in shape) or math.prod(shape) < _SMALLEST:
        return False
    return equation.primitive is not lax.scatter_p or equation.invars[1].aval.ndim == 1


def _is_seen(
    operand: Any, update: Any, equations: Sequence[Equation], definitions: dict[Any, int]
) -> bool:
    """Returns whether ``update`` is fused with operations that move elements of ``operand``."""
    waiting, known = [update], set()
    while waiting:
        place = definitions.get(waiting.pop())
        if place is None or place in known:
            continue
        known.add(place)
        equation = equations[place]
        if not is_fused(equation.primitive):
            continue
        if operand in equation.invars and equation.primitive.name in MOVING:
            return True
        waiting += [each for each in equation.invars if each in definitions]
    return False
