# SPDX-License-Identifier: Apache-2.0
"""Taylor rule of linear solves: one solve for each order, with the zeroth-order map."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.control_flow.linear_solves import LinearSolveParts, split_operands
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr

from ..series import Series, order_of, terms_or_zeros, zero_series, zeros_of
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
    """Solves for each coefficient of the solution in turn, given its coefficients of lower order.

    In ``A x = b``, all three are series. The coefficients of order ``k`` satisfy
    ``A_0 x_k = b_k - (A_1 x_{k-1} + ... + A_k x_0)``. The sum is the coefficient of order ``k`` of
    ``A`` times the solution up to order ``k - 1``.
    """
    results = lax.linear_solve_p.bind(*primals, const_lengths=const_lengths, jaxprs=jaxprs)
    consts, right_hand_sides = split_operands(primals, const_lengths)
    const_series, right_hand_series = split_operands(series, const_lengths)
    count, order = len(right_hand_sides), order_of(series)
    right_hand_terms = [
        terms_or_zeros(b, terms, order)
        for b, terms in zip(right_hand_sides, right_hand_series, strict=True)
    ]
    is_map_constant = all(terms is zero_series for terms in const_series.matvec)
    solutions: list[Series] = [[x] for x in results[:count]]
    for k in range(1, order + 1):
        right_hand = [terms[k - 1] for terms in right_hand_terms]
        if not is_map_constant:
            images = _images(jaxprs.matvec, consts.matvec, const_series.matvec, solutions, k)
            right_hand = [lax.sub(b, image) for b, image in zip(right_hand, images, strict=True)]
        solved = lax.linear_solve_p.bind(
            *primals[: len(primals) - count],
            *right_hand,
            const_lengths=const_lengths,
            jaxprs=jaxprs,
        )
        for coefficients, term in zip(solutions, solved[:count], strict=True):
            coefficients.append(term)
    auxiliary = [zero_series] * (len(results) - count)
    return results, [*(coefficients[1:] for coefficients in solutions), *auxiliary]


def _images(
    matvec: ClosedOlympuspr,
    consts: Sequence[Any],
    const_series: Sequence[Any],
    solutions: Sequence[Series],
    k: int,
) -> list[Any]:
    """Returns the coefficients of order ``k`` of the linear map applied to the solution so far.

    Args:
      matvec: the program of the linear map, a function of its constants and a vector.
      consts: the values of its constants.
      const_series: the terms of its constants.
      solutions: the coefficients of each unknown, of the orders below ``k``.
      k: the order.
    """
    # The unknown coefficients of order k are left out: zeros stand for them.
    terms = [[*coefficients[1:], zeros_of(coefficients[0])] for coefficients in solutions]
    images, image_terms = jet_flat(
        lambda *operands: eval_olympuspr(matvec.jaxpr, matvec.consts, *operands),
        [*consts, *(coefficients[0] for coefficients in solutions)],
        [*(series if series is zero_series else series[:k] for series in const_series), *terms],
        k,
    )
    return [
        terms_or_zeros(image, terms, k)[k - 1]
        for image, terms in zip(images, image_terms, strict=True)
    ]
