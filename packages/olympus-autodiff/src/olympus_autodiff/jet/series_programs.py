# SPDX-License-Identifier: Apache-2.0
"""Programs that propagate series, for the rules of calls and control flow."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.types.avals import ShapedArray

from ..forward.checks import check_no_tracers
from ..memoization import memoized
from ..zeros import has_tangents
from .series import terms_or_zeros, zero_series
from .trace import jet_flat

__all__ = ["flags_of", "flat_terms", "grouped", "jet_olympuspr"]


def flags_of(series: Sequence[Any]) -> tuple[bool, ...]:
    """Returns, for each operand, whether it has terms."""
    return tuple([terms is not zero_series for terms in series])


def flat_terms(
    values: Sequence[Any], series: Sequence[Any], moving: Sequence[bool], order: int
) -> list[Any]:
    """Returns the terms of the operands flagged in ``moving``, as one flat list."""
    return [
        term
        for value, terms, flag in zip(values, series, moving, strict=True)
        if flag
        for term in terms_or_zeros(value, terms, order)
    ]


def grouped(terms: Sequence[Any], moving: Sequence[bool], order: int) -> list[Any]:
    """Inverts `flat_terms`: returns a list of terms, or `zero_series`, for each operand."""
    remaining = iter(terms)
    return [[next(remaining) for _ in range(order)] if flag else zero_series for flag in moving]


def jet_olympuspr(
    closed: ClosedOlympuspr,
    order: int,
    moving_in: Sequence[bool],
    term_avals: Sequence[ShapedArray],
    instantiate: Sequence[bool] = (),
) -> tuple[ClosedOlympuspr, tuple[bool, ...]]:
    """Returns the program that propagates series through a program.

    Args:
      closed: the program.
      order: the number of terms.
      moving_in: for each input, whether it has terms.
      term_avals: the types of the terms, for the inputs that have terms.
      instantiate: for each result, whether to return its terms even if the result is constant.

    Returns:
      The program, and for each result, whether it has terms. The program maps the inputs and
      their terms to the results and their terms.
    """
    flags = tuple(instantiate) or (False,) * len(closed.out_avals)
    return _jet_olympuspr(closed, order, tuple(moving_in), tuple(term_avals), flags)


@memoized
def _jet_olympuspr(
    closed: ClosedOlympuspr,
    order: int,
    moving_in: tuple[bool, ...],
    term_avals: tuple[ShapedArray, ...],
    instantiate: tuple[bool, ...],
) -> tuple[ClosedOlympuspr, tuple[bool, ...]]:
    count = len(moving_in)
    moving_out: tuple[bool, ...] = ()

    def pushed_forward(*operands: Any) -> list[Any]:
        nonlocal moving_out
        results, series = jet_flat(
            lambda *inputs: eval_olympuspr(closed.jaxpr, closed.consts, *inputs),
            operands[:count],
            grouped(operands[count:], moving_in, order),
            order,
        )
        moving_out = tuple(
            terms is not zero_series or (want and has_tangents(aval.dtype))
            for aval, terms, want in zip(closed.out_avals, series, instantiate, strict=True)
        )
        return [*results, *flat_terms(results, series, moving_out, order)]

    olympuspr, consts = trace_to_olympuspr(
        pushed_forward, [*closed.in_avals, *term_avals], closed.debug_info
    )
    check_no_tracers(consts)
    return ClosedOlympuspr(olympuspr, consts), moving_out
