# SPDX-License-Identifier: Apache-2.0
"""Cuts before operations that should not be fused with the computation of an operand.

One walk over a program finds the updates of updates.py, the gathers of gathers.py and the searches
of positions.py. An optimization barrier after an operand keeps it out of the operation's fused
function. As with the cuts of fusions.py, the pass of XLA that removes barriers is switched off.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from olympus_ir.programs.olympuspr import Equation, Olympuspr, primitives_of

from .fusions import Cuts, is_fused, with_barriers
from .gathers import GATHERS, is_cut_from_gather
from .positions import POSITIONS, is_cut_from_position
from .updates import UPDATES, is_cut_from_update, update_of

__all__ = ["cut_from_operands", "may_be_cut"]


def may_be_cut(olympuspr: Olympuspr) -> bool:
    """Returns whether a program has operations that may be cut from an operand."""
    return not _CUT.isdisjoint(primitives_of(olympuspr))


_CUT = UPDATES | GATHERS | POSITIONS


def cut_from_operands(
    olympuspr: Olympuspr, platforms: Sequence[str]
) -> tuple[Olympuspr, Cuts | None]:
    """Cuts updates, gathers and searches from computations that XLA should not fuse with them.

    Args:
      olympuspr: the program.
      platforms: the program's platforms; only the CPU's compiler needs cuts.

    Returns:
      The program with optimization barriers, and the cuts. If there are none, the unchanged program
      and None.
    """
    if tuple(platforms) != ("cpu",) or not may_be_cut(olympuspr):
        return olympuspr, None
    equations = olympuspr.eqns
    definitions = {
        var: position for position, equation in enumerate(equations) for var in equation.outvars
    }
    positions: set[int] = set()
    for equation in equations:
        if equation.primitive in UPDATES:
            value, is_cut = update_of(equation), is_cut_from_update
        elif equation.primitive in GATHERS:
            value, is_cut = equation.invars[0], is_cut_from_gather
        elif equation.primitive in POSITIONS:
            value, is_cut = equation.invars[0], is_cut_from_position
        else:
            continue
        fused = _fused_into(value, equations, definitions, positions)
        if value in definitions and is_cut(equation, fused):
            positions.add(definitions[value])
    if not positions:
        return olympuspr, None
    cuts = [equations[position] for position in sorted(positions)]
    return with_barriers(olympuspr, positions), Cuts(cuts, len(equations), len(equations))


def _fused_into(
    value: Any, equations: Sequence[Equation], definitions: dict[Any, int], cut: set[int]
) -> Iterator[Equation]:
    """Yields the equations of a fused function that computes a value, up to those that are cut."""
    waiting, known = [value], set()
    while waiting:
        position = definitions.get(waiting.pop())
        if position is None or position in known or position in cut:
            continue
        known.add(position)
        equation = equations[position]
        if is_fused(equation.primitive):
            yield equation
            waiting += equation.invars
