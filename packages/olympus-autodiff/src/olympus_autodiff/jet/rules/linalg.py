# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of the solutions of linear systems.

From ``A x = b`` follows ``A_0 x_k = b_k - sum of A_j x_(k-j)``: each order takes one solve with the
matrix's value ``A_0``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.lax.linalg.matrices import matmul, swap_last, tril, triu

from ...rules.linalg import shifted_rows, times_rows
from ..series import order_of, terms_or_zeros, total, zero_series
from ..tables import jet_rules


def _solved_terms(
    first: Any,
    right_hand_sides: Sequence[Any],
    solve: Callable[[Any], Any],
    applied: Callable[[int, Any], Any] | None,
) -> list[Any]:
    """Returns the terms of a solution.

    Args:
      first: the value of the solution.
      right_hand_sides: the terms of the right-hand side.
      solve: solves with the value of the matrix.
      applied: multiplies an array by the matrix's term of an order, which is at least one; None if
        the matrix is constant.
    """
    solution = [first]
    for k, term in enumerate(right_hand_sides, 1):
        if applied is not None:
            term = lax.sub(term, total([applied(j, solution[k - j]) for j in range(1, k + 1)]))
        solution.append(solve(term))
    return solution[1:]


@jet_rules.define(linalg.triangular_solve_p)
def _triangular_solve_jet(
    primals: Sequence[Any],
    series: Sequence[Any],
    *,
    left_side: bool,
    lower: bool,
    transpose_a: bool,
    conjugate_a: bool,
    unit_diagonal: bool,
) -> Any:
    (a, b), (a_terms, b_terms) = primals, series
    params = {
        "left_side": left_side,
        "lower": lower,
        "transpose_a": transpose_a,
        "conjugate_a": conjugate_a,
        "unit_diagonal": unit_diagonal,
    }

    def solve(right_hand_side: Any) -> Any:
        return linalg.triangular_solve_p.bind(a, right_hand_side, **params)

    def applied(j: int, x: Any) -> Any:
        # Only one triangle of the matrix is read, so only that triangle of its terms counts.
        term = a_terms[j - 1]
        part = tril(term, -int(unit_diagonal)) if lower else triu(term, int(unit_diagonal))
        part = swap_last(part) if transpose_a else part
        part = lax.conj(part) if conjugate_a else part
        return matmul(part, x) if left_side else matmul(x, part)

    first = solve(b)
    terms = terms_or_zeros(b, b_terms, order_of(series))
    return first, _solved_terms(first, terms, solve, None if a_terms is zero_series else applied)


@jet_rules.define(linalg.tridiagonal_solve_p)
def _tridiagonal_solve_jet(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> Any:
    *diagonals, b = primals
    order = order_of(series)
    *diagonal_terms, b_terms = [
        terms_or_zeros(x, terms, order) for x, terms in zip(primals, series, strict=True)
    ]

    def solve(right_hand_side: Any) -> Any:
        return linalg.tridiagonal_solve_p.bind(*diagonals, right_hand_side, **params)

    def applied(j: int, x: Any) -> Any:
        return total(
            [
                times_rows(terms[j - 1], shifted_rows(x, shift) if shift else x)
                for terms, shift in zip(diagonal_terms, (1, 0, -1), strict=True)
            ]
        )

    fixed = all(terms is zero_series for terms in series[:-1])
    first = solve(b)
    return first, _solved_terms(first, b_terms, solve, None if fixed else applied)
