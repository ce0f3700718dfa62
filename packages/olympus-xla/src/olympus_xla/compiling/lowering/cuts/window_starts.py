# SPDX-License-Identifier: Apache-2.0
"""Starts of slices as values, so that equal steps of unrolled code are compiled once.

Step ``i`` of unrolled code takes its weights or inputs from a stack, ``ws[i]``. XLA compiles equal
fused functions once. However, a slice with a constant start is fused into the operations that use
it, so the functions of different steps are not equal. This pass replaces such slices by
``dynamic_slice``, whose start is a constant behind an optimization barrier. The fused functions
then take the start as an operand and are equal. As with the cuts of fusions.py, the pass
of XLA that removes barriers is switched off. docs/decisions/043-cut-fusions.md has the
measurements.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation, Literal, Olympuspr, Var, primitives_of
from olympus_ir.types.avals import ShapedArray

from ..cpu.choice import is_static
from .fusions import Cuts

__all__ = ["with_starts_as_values"]

# Smaller programs compile quickly anyway.
_FEWEST_EQUATIONS = 48
# Slices of an operand are replaced if they take at least this many windows of the same shape.
_FEWEST_STARTS = 8
# Single numbers are replaced only if they come from at least this many stacks. Numbers from one or
# two stacks, such as the coefficients of a polynomial, are mostly operands of one large function.
# With replaced slices, this function compiles no faster, and runs a tenth slower.
_FEWEST_STACKS_OF_NUMBERS = 3

_INDEX = ShapedArray((), np.dtype(np.int32))


def with_starts_as_values(
    olympuspr: Olympuspr, platforms: Sequence[str]
) -> tuple[Olympuspr, Cuts | None]:
    """Replaces slices of stacked operands by slices whose starts are values of the program.

    Args:
      olympuspr: the program.
      platforms: the program's platforms; only the CPU's compiler needs this.

    Returns:
      The new program and the replaced slices. If there are few such slices, the unchanged program
      and None.
    """
    if len(olympuspr.eqns) < _FEWEST_EQUATIONS or tuple(platforms) != ("cpu",):
        return olympuspr, None
    places = _places(olympuspr)
    if not places:
        return olympuspr, None
    starts: dict[int, Var] = {}
    equations = list(olympuspr.eqns)
    for place in places:
        equations[place] = _dynamic(equations[place], starts)
    source = olympuspr.eqns[places[0]].source_info
    made = [
        Equation.pure([_literal(start)], [var], lax.optimization_barrier_p, {}, source)
        for start, var in starts.items()
    ]
    cuts = Cuts([], 0, 0, [olympuspr.eqns[place] for place in places])
    return olympuspr.replace(eqns=[*made, *equations]), cuts


def _places(olympuspr: Olympuspr) -> list[int]:
    """Returns the positions of the slices that take many windows of one operand.

    Only operands of the program count: XLA simplifies slices of values such as concatenations.
    """
    primitives = [*primitives_of(olympuspr)]
    if primitives.count(lax.slice_p) < _FEWEST_STARTS:
        return []
    slices = [place for place, primitive in enumerate(primitives) if primitive is lax.slice_p]
    stacks = {*olympuspr.constvars, *olympuspr.invars}
    windows: defaultdict[Any, list[int]] = defaultdict(list)
    for place in slices:
        equation = olympuspr.eqns[place]
        stack, (window,) = equation.invars[0], equation.outvars
        if stack in stacks and equation.params["strides"] is None and _is_plain(stack.aval):
            windows[stack, window.aval.shape].append(place)
    groups = {
        key: group
        for key, group in windows.items()
        if len({_start(olympuspr.eqns[place]) for place in group}) >= _FEWEST_STARTS
    }
    takes_numbers = len(groups) >= _FEWEST_STACKS_OF_NUMBERS
    return sorted(
        place
        for (_, shape), group in groups.items()
        if takes_numbers or math.prod(shape) > 1
        for place in group
    )


def _start(equation: Equation) -> tuple[int, ...]:
    return tuple(equation.params["start_indices"])


def _is_plain(aval: Any) -> bool:
    """Returns whether a type has a static shape and no explicit sharding."""
    return (
        type(aval) is ShapedArray
        and is_static(aval.shape)
        and aval == ShapedArray(aval.shape, aval.dtype)
    )


def _dynamic(equation: Equation, starts: dict[int, Var]) -> Equation:
    """Returns a slice that takes its starts from variables; adds new variables to ``starts``."""
    stack, (window,) = equation.invars[0], equation.outvars
    indices: list[Any] = []
    for start, size, whole in zip(
        _start(equation), window.aval.shape, stack.aval.shape, strict=True
    ):
        if size == whole:
            indices.append(_literal(0))
        else:
            indices.append(starts.setdefault(start, Var(_INDEX)))
    return equation.replace(
        primitive=lax.dynamic_slice_p,
        invars=[stack, *indices],
        params={"slice_sizes": tuple(window.aval.shape)},
    )


def _literal(start: int) -> Literal:
    return Literal(np.int32(start), _INDEX)
