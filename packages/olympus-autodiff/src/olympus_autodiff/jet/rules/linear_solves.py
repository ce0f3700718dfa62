# SPDX-License-Identifier: Apache-2.0
"""Taylor rule of linear solves: one solve for each order, with the zeroth-order map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.control_flow.linear_solves import LinearSolveParts, split_operands
from olympus_ir.programs.evaluation import eval_olympuspr

from ..series import order_of, terms_or_zeros, zero_series
from ..tables import jet_rules
from ..trace import jet_flat


@jet_rules.define(lax.linear_solve_p)
def _linear_solve_jet(
    primals: Sequence[Any],
    series: Sequence[Any],
    *,
    const_lengths: LinearSolveParts,
    jaxprs: LinearSolveParts,
) -> Any:
    """Solves for each term of the solution in turn, given its terms of lower order."""
    results = lax.linear_solve_p.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
    consts, right_hand_sides = split_operands(primals, const_lengths)
    const_series, right_hand_series = split_operands(series, const_lengths)
    count, order = len(right_hand_sides), order_of(series)
    given = [
        terms_or_zeros(b, terms, order)
        for b, terms in zip(right_hand_sides, right_hand_series, strict=True)
    ]
    matvec = jaxprs.matvec
    fixed = all(terms is zero_series for terms in const_series.matvec)
    solutions: list[list[Any]] = [[x] for x in results[:count]]
    for k in range(1, order + 1):
        changes = [terms[k - 1] for terms in given]
        if not fixed:
            # The solution's coefficients below order k, and zeros as the coefficient of order k.
            known = [terms_or_zeros(x[0], zero_series, k) for x in solutions]
            for x, terms in zip(solutions, known, strict=True):
                terms[: k - 1] = x[1:]
            images, pushed = jet_flat(
                lambda *operands: eval_olympuspr(matvec.jaxpr, matvec.consts, *operands),
                [*consts.matvec, *(x[0] for x in solutions)],
                [
                    *(each if each is zero_series else each[:k] for each in const_series.matvec),
                    *known,
                ],
                k,
            )
            changes = [
                lax.sub(change, terms_or_zeros(image, terms, k)[k - 1])
                for change, image, terms in zip(changes, images, pushed, strict=True)
            ]
        solved = lax.linear_solve_p.bind(
            *primals[: len(primals) - count], *changes, const_lengths=const_lengths, jaxprs=jaxprs
        )
        for x, term in zip(solutions, solved, strict=False):
            x.append(term)
    auxiliary = [zero_series] * (len(results) - count)
    return results, [*(x[1:] for x in solutions), *auxiliary]
