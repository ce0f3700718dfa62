# SPDX-License-Identifier: Apache-2.0
"""Derivatives of linear solves, which are solves with the same map or with its transpose."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.control_flow.linear_solves import LinearSolveParts, split_operands
from olympus_ir.programs.evaluation import eval_olympuspr

from ..forward.jvp import jvp_flat
from ..tables import jvp_rules, transpose_rules
from ..zeros import Zero, add_tangents, instantiate


@jvp_rules.define(lax.linear_solve_p)
def _linear_solve_jvp(
    primals: Sequence[Any],
    tangents: Sequence[Any],
    *,
    const_lengths: LinearSolveParts,
    jaxprs: LinearSolveParts,
) -> Any:
    """Jvp rule of linear solves: ``A x = b`` implies ``A dx = db - dA x``."""
    results = lax.linear_solve_p.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
    consts, right_hand_sides = split_operands(primals, const_lengths)
    const_tangents, changes = split_operands(tangents, const_lengths)
    count = len(right_hand_sides)
    if any(t.__class__ is not Zero for t in const_tangents.matvec):
        unknowns = results[:count]
        changes = [
            add_tangents(change, _negated(moved))
            for change, moved in zip(
                changes, _map_tangents(jaxprs.matvec, consts, const_tangents, unknowns), strict=True
            )
        ]
    if all(change.__class__ is Zero for change in changes):
        return results, [Zero.of(result) for result in results]
    solved = lax.linear_solve_p.bind(
        *primals[: len(primals) - count],
        *map(instantiate, changes),
        const_lengths=const_lengths,
        jaxprs=jaxprs,
    )
    # Auxiliary results, such as iteration counts, are constants.
    return results, [*solved[:count], *(Zero.of(result) for result in results[count:])]


def _map_tangents(
    matvec: Any, consts: LinearSolveParts, tangents: LinearSolveParts, unknowns: Sequence[Any]
) -> list[Any]:
    """Returns the tangents of the map's results for constant unknowns."""

    def applied(*operands: Any) -> list[Any]:
        return eval_olympuspr(matvec.jaxpr, matvec.consts, *operands)

    _, pushed = jvp_flat(
        applied,
        [*consts.matvec, *unknowns],
        [*tangents.matvec, *(Zero.of(x) for x in unknowns)],
    )
    return pushed


def _negated(tangent: Any) -> Any:
    return tangent if tangent.__class__ is Zero else lax.neg(tangent)


@transpose_rules.define(lax.linear_solve_p)
def _linear_solve_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    const_lengths: LinearSolveParts,
    jaxprs: LinearSolveParts,
) -> list[Any]:
    if jaxprs.transpose_solve is None:
        raise TypeError(
            "transpose_solve required for backwards mode automatic differentiation of "
            "custom_linear_solve: pass transpose_solve=, or symmetric=True where the map is its "
            "own transpose."
        )
    consts, right_hand_sides = split_operands(operands, const_lengths)
    count = len(right_hand_sides)
    if any(ct.__class__ is not Zero for ct in cotangents[count:]):
        raise NotImplementedError(
            "custom_linear_solve cannot be transposed with a cotangent for its auxiliary results "
            "(has_aux=True): they need not be linear in the right-hand side. Drop them, or apply "
            "lax.stop_gradient to them."
        )
    transposed_consts = LinearSolveParts(*consts).transposed()
    solved = lax.linear_solve_p.bind(
        *(value for group in transposed_consts for value in group),
        *map(instantiate, cotangents[:count]),
        const_lengths=const_lengths.transposed(),
        jaxprs=jaxprs.transposed(),
    )
    return [None] * (len(operands) - count) + list(solved[:count])
