# SPDX-License-Identifier: Apache-2.0
"""Programs inside equations, with rearranged inputs, and zeros in programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.olympuspr import (
    Atom,
    ClosedOlympuspr,
    Equation,
    Literal,
    Var,
    close_olympuspr,
)
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.types import dtypes
from olympus_ir.types.avals import get_aval

from ..zeros import explicit_layout, scalar, zeros_like_aval


def rearranged(
    closed: ClosedOlympuspr,
    inputs: Sequence[int] | None = None,
    results: Sequence[int] | None = None,
) -> ClosedOlympuspr:
    """Returns a program with its constants as first inputs, and inputs and results reordered.

    Args:
      closed: the program.
      inputs: the positions of its inputs in the new order.
      results: the positions of its results in the new order.
    """
    olympuspr = closed.jaxpr
    invars = olympuspr.invars if inputs is None else [olympuspr.invars[i] for i in inputs]
    outvars = olympuspr.outvars if results is None else [olympuspr.outvars[i] for i in results]
    return close_olympuspr(
        olympuspr.replace(constvars=[], invars=[*olympuspr.constvars, *invars], outvars=outvars)
    )


def paired(*sizes: tuple[int, int]) -> list[int]:
    """Returns positions that move the tangents of each group directly after its primal values.

    Args:
      *sizes: for each group, the numbers of primal values and of tangents. Before the move, the
        primal values of all groups precede all tangents.

    Example:
      >>> paired((2, 1), (1, 1))  # from a b c da dc to a b da c dc
      [0, 1, 3, 2, 4]
    """
    next_primal = 0
    next_tangent = sum(num_primals for num_primals, _ in sizes)
    order: list[int] = []
    for num_primals, num_tangents in sizes:
        order += range(next_primal, next_primal + num_primals)
        order += range(next_tangent, next_tangent + num_tangents)
        next_primal += num_primals
        next_tangent += num_tangents
    return order


def staged_zeros(equations: list[Equation], aval: Any) -> Atom:
    """Returns zeros of a type. Adds an equation that makes them unless the type is a scalar."""
    if dtypes.is_extended(aval.dtype):
        return _staged_extended_zeros(equations, aval)
    value = scalar(0, aval.dtype)
    zero = Literal(value, get_aval(value))
    if not aval.shape:
        return zero
    var = Var(aval)
    params = {"shape": aval.shape, "broadcast_dimensions": (), "sharding": explicit_layout(aval)}
    equations.append(Equation.pure([zero], [var], lax.broadcast_in_dim_p, params))
    return var


def _staged_extended_zeros(equations: list[Equation], aval: Any) -> Atom:
    program, consts = trace_to_olympuspr(lambda: [zeros_like_aval(aval)], [])
    var = Var(aval)
    params = {"call_jaxpr": ClosedOlympuspr(program, consts)}
    equations.append(Equation.pure([], [var], lax.closed_call_p, params))
    return var
