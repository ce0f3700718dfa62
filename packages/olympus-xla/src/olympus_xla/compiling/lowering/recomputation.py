# SPDX-License-Identifier: Apache-2.0
"""Recomputation of cheap values of repeated blocks, which saves memory.

Within one function, XLA recomputes a cheap value for each operation that uses it, and does not
store it. A value that passes between calls of blocks (see repetition.py) must be stored. It stays
in memory from the layer that computes it to the gradient of this layer, at the other end of the
program. Before blocks become calls, this pass therefore finds values that take only a few cheap
operations on stored values, and computes them again where they are used. The benchmark "memory:
gradient of 80 layers" covers this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Literal, Olympuspr, Var

from .fused import is_elementwise_product

__all__ = ["Uses", "recomputed"]

# Longer chains cost more time than their memory is worth.
_LONGEST_CHAIN = 8

# Operations that take about as long as reading their results. Transcendental operations take
# longer.
_CHEAP = frozenset(
    {
        *(lax.add_p, lax.add_any_p, lax.sub_p, lax.mul_p, lax.neg_p, lax.abs_p, lax.sign_p),
        *(lax.square_p, lax.integer_pow_p, lax.max_p, lax.min_p, lax.clamp_p),
        *(lax.ceil_p, lax.floor_p, lax.round_p, lax.real_p, lax.imag_p),
        *(lax.eq_p, lax.ne_p, lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p, lax.is_finite_p),
        *(lax.and_p, lax.or_p, lax.xor_p, lax.not_p, lax.select_n_p),
        *(lax.shift_left_p, lax.shift_right_arithmetic_p, lax.shift_right_logical_p),
        *(lax.broadcast_in_dim_p, lax.reshape_p, lax.rev_p, lax.squeeze_p, lax.transpose_p),
        *(lax.convert_element_type_p, lax.copy_p),
    }
)


class Uses:
    """The positions of the equations that define and last use each value of a program."""

    def __init__(self, olympuspr: Olympuspr) -> None:
        self.equations = olympuspr.eqns
        self.made: dict[Any, int] = {}
        self.last_use: dict[Any, int] = {}
        for position, equation in enumerate(olympuspr.eqns):
            for atom in equation.invars:
                if atom.__class__ is not Literal:
                    self.last_use[atom] = position
            for var in equation.outvars:
                self.made[var] = position
        for atom in olympuspr.outvars:
            if atom.__class__ is not Literal:
                self.last_use[atom] = len(olympuspr.eqns)


def recomputed(olympuspr: Olympuspr, runs: Iterable[Sequence[range]], uses: Uses) -> Olympuspr:
    """Returns the program with cheap values recomputed in later blocks.

    Returns the program itself if there are no such values.

    Args:
      olympuspr: the program.
      runs: the repeated blocks of each run, as ranges of equations.
      uses: the positions at which the values are defined and used.
    """
    plan = _Plan(olympuspr, runs, uses)
    if not plan.chains:
        return olympuspr
    return olympuspr.replace(eqns=_with_chains(olympuspr.eqns, plan))


class _Plan:
    """Plan of recomputations: the values, and the positions at which they are recomputed.

    Attributes:
      chains: for each value, the positions of the equations that make it.
      wanted_at: a mapping from the position of an equation to the values to recompute before it.
        The equation is the first that uses these values after their block.
      dead: the positions of equations whose results are no longer used.
    """

    def __init__(self, olympuspr: Olympuspr, runs: Iterable[Sequence[range]], uses: Uses) -> None:
        self.equations = olympuspr.eqns
        self.made, self.last_use = uses.made, uses.last_use
        # Pairs of a block and the end of the next block in its run. The last block of a run is
        # paired with its own end.
        blocks = [
            (block, block.stop + len(block) * (block is not run[-1]))
            for run in runs
            for block in run
        ]
        late = {
            var: []
            for block, next_stop in blocks
            for position in block
            for var in self.equations[position].outvars
            if self.last_use.get(var, -1) >= next_stop
        }
        self.late_uses: dict[Any, list[int]] = late
        for position, equation in enumerate(self.equations):
            for atom in equation.invars:
                if atom in late:
                    late[atom].append(position)
        self.chains: dict[Any, list[int]] = {}
        self.wanted_at: dict[int, list[Any]] = {}
        self.dead: set[int] = set()
        for block, next_stop in blocks:
            if self._add(block, next_stop):
                self._drop(block)

    def _add(self, block: range, next_stop: int) -> bool:
        """Plans recomputation of a block's values that are used only after the next block.

        Returns whether there are such values.
        """
        kept: set[Any] = set()
        found = False
        for position in block:
            for var in self.equations[position].outvars:
                if var not in self.late_uses:
                    continue
                chain = None
                outside = [use for use in self.late_uses[var] if use >= block.stop]
                # Values that the next block takes, and results of the program, are stored anyway.
                # Chains may start from them. A value is also stored if an operation that is not
                # fused uses it.
                if (
                    self.last_use[var] < len(self.equations)
                    and outside[0] >= next_stop
                    and all(_is_cheap(self.equations[use]) for use in outside)
                ):
                    chain = self._chain(var, block, kept, outside[0])
                if chain is None:
                    kept.add(var)
                else:
                    found = True
                    self.chains[var] = chain
                    self.wanted_at.setdefault(outside[0], []).append(var)
        return found

    def _drop(self, block: range) -> None:
        """Drops the equations whose results are now recomputed elsewhere."""
        live: set[Any] = set()
        for position in reversed(block):
            equation = self.equations[position]
            if equation.effects or any(
                var in live or (self.last_use.get(var, -1) >= block.stop and var not in self.chains)
                for var in equation.outvars
            ):
                live.update(equation.invars)
            else:
                self.dead.add(position)

    def _chain(self, var: Var, block: range, kept: set[Any], first_use: int) -> list[int] | None:
        """Returns the positions of the equations that compute a value from stored values.

        Returns None if there are too many equations or one is expensive, or if they would extend
        the lifetime of an operand too far.
        """
        positions: set[int] = set()
        pending: list[Any] = [var]
        while pending:
            atom = pending.pop()
            position = self.made.get(atom)
            if atom.__class__ is Literal or position is None or position in positions:
                continue
            if position not in block or atom in kept:
                # Recomputation may extend the lifetime of an operand by at most one block.
                if atom in self.chains or self.last_use[atom] < first_use - len(block):
                    return None
                continue
            equation = self.equations[position]
            positions.add(position)
            if not _is_cheap(equation) or sum(map(self._size, positions)) > _LONGEST_CHAIN:
                return None
            pending += equation.invars
        return sorted(positions)

    def _size(self, position: int) -> int:
        programs = self.equations[position].params.values()
        return (
            sum(len(program.eqns) for program in programs if isinstance(program, ClosedOlympuspr))
            or 1
        )


def _is_cheap(equation: Equation) -> bool:
    primitive, params = equation.primitive, equation.params
    if equation.effects:
        return False
    if primitive is lax.jit_p:
        return all(map(_is_cheap, params["jaxpr"].eqns))
    if primitive is lax.div_p:  # processors have no vector instructions for integer division
        return np.issubdtype(equation.outvars[0].aval.dtype, np.inexact)
    return primitive in _CHEAP or is_elementwise_product(equation)


def _with_chains(equations: Sequence[Equation], plan: _Plan) -> list[Equation]:
    """Returns the equations with each chain inserted before the first use of its value."""
    renamed: dict[Any, Any] = {}
    result: list[Equation] = []
    for position, equation in enumerate(equations):
        # The first equation that uses a value may be dead, but not the later ones.
        for var in plan.wanted_at.get(position, ()):
            again: dict[Any, Any] = {}
            for origin in plan.chains[var]:
                original = equations[origin]
                outvars = [Var(out.aval) for out in original.outvars]
                result.append(original.replace(invars=_renamed(original, again), outvars=outvars))
                again.update(zip(original.outvars, outvars, strict=True))
            renamed[var] = again[var]
        if position in plan.dead:
            continue
        if not renamed.keys().isdisjoint(equation.invars):
            equation = equation.replace(invars=_renamed(equation, renamed))
        result.append(equation)
    return result


def _renamed(equation: Equation, names: dict[Any, Any]) -> list[Any]:
    return [names.get(atom, atom) for atom in equation.invars]
