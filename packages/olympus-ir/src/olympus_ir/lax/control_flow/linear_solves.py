# SPDX-License-Identifier: Apache-2.0
"""The primitive of linear solves, whose derivative does not differentiate the solver.

`custom_linear_solve`, which binds the primitive, needs transposition and is in olympus-autodiff.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ...programs.evaluation import eval_olympuspr
from ...programs.primitives import instruction
from ...types.avals import AbstractValue
from ...types.effects import no_effects
from ...types.typed_scalars import typed

__all__ = ["linear_solve_p"]


class LinearSolveParts(NamedTuple):
    """A value for each of the four programs of a linear solve; None for a missing program.

    Attributes:
      matvec: the program that applies the linear map.
      vecmat: the program that applies the transposed map.
      solve: the solver; it may return auxiliary results after the solution.
      transpose_solve: the solver of the transposed map.
    """

    matvec: Any
    vecmat: Any
    solve: Any
    transpose_solve: Any

    def transposed(self) -> LinearSolveParts:
        """Returns the parts of the solve with the transposed map."""
        return LinearSolveParts(self.vecmat, self.matvec, self.transpose_solve, self.solve)


# JAX prints the type under this name.
LinearSolveParts.__name__ = "_LinearSolveTuple"

# Solves a system of linear equations:
#   *x, *aux = custom_linear_solve[const_lengths jaxprs]
#       *matvec_consts *vecmat_consts *solve_consts *transpose_solve_consts *b
linear_solve_p = instruction(
    "custom_linear_solve", multiple_results=True, family="control_flow", cache_inference=False
)
linear_solve_p.spreads_varying = False


@linear_solve_p.def_effectful_abstract_eval
def _linear_solve_types(
    *operands: AbstractValue, const_lengths: LinearSolveParts, jaxprs: LinearSolveParts
) -> tuple[list[AbstractValue], frozenset]:
    effects = no_effects
    for program in jaxprs:
        if program is not None:
            effects |= program.effects
    return jaxprs.solve.out_avals, effects


def split_operands(
    operands: Any, const_lengths: LinearSolveParts
) -> tuple[LinearSolveParts, list[Any]]:
    """Splits operands into the constants of each program and the right-hand sides.

    ``operands`` may also be a list of flags or types, one for each operand.
    """
    groups = []
    start = 0
    for length in const_lengths:
        groups.append(list(operands[start : start + length]))
        start += length
    return LinearSolveParts(*groups), list(operands[start:])


@linear_solve_p.def_impl
def solve_now(
    *operands: Any, const_lengths: LinearSolveParts, jaxprs: LinearSolveParts
) -> list[Any]:
    """Runs the solver. The other programs only serve derivatives.

    The solver runs equation by equation. It is often a new function at each call, so compiling it
    would not pay off.
    """
    consts, right_hand_sides = split_operands(operands, const_lengths)
    program = jaxprs.solve
    results = eval_olympuspr(program.jaxpr, program.consts, *consts.solve, *right_hand_sides)
    return [typed(result) for result in results]
