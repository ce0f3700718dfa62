# SPDX-License-Identifier: Apache-2.0
"""The table of Taylor rules, and the combinators that fill it.

``rule(primals, series, **params) -> (result, its terms)``, or lists of both where the primitive has
several results. The series of an operand is a list of its terms, which are not scaled by
factorials, or `zero_series` where it does not move; at least one moves.

A primitive without a rule of its own is pushed along a curve by its jvp rule, see `along_curve`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable
from olympus_ir.programs.tracing import current, set_current_trace

from ..tables import DerivativeTable, broadcast_to, jvp_rules, shape_of
from ..zeros import Zero, aval_of, has_tangents, instantiate
from .series import (
    convolution,
    integral,
    order_of,
    terms_or_zeros,
    velocity,
    zero_series,
)

__all__ = [
    "along_curve",
    "call_param_updaters",
    "def_comp",
    "def_deriv",
    "deflinear",
    "defzero",
    "deriv_prop",
    "jet_rules",
    "linear_prop",
    "termwise",
    "zero_prop",
]

JetRule = Callable[..., tuple[Any, Any]]


class JetTable(DerivativeTable):
    """The Taylor rules. Those that others assign get the terms of every operand as arrays."""

    def __setitem__(self, primitive: Primitive, rule: JetRule) -> None:
        def with_arrays(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> Any:
            order = order_of(series)
            terms = [
                terms_or_zeros(x, each, order) for x, each in zip(primals, series, strict=True)
            ]
            return rule(primals, terms, **params)

        super().__setitem__(primitive, with_arrays)


jet_rules: JetTable = JetTable("jet", package="olympus_autodiff", folder="jet/rules")

# Kept for libraries that name it: parameters of calls follow from the programs they call.
call_param_updaters: dict[Primitive, Callable[..., Any]] = {}


def _assign(primitive: Primitive, rule: JetRule) -> None:
    RuleTable.__setitem__(jet_rules, primitive, rule)


# ---- rules for all kinds of primitives ----


def zero_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Applies a primitive whose results do not move with its operands."""
    results = prim.bind(*primals_in, **params)
    if prim.multiple_results:
        return results, [zero_series] * len(results)
    return results, zero_series


def linear_prop(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Applies a primitive that is linear in all operands together: to the terms of each order."""
    order = order_of(series_in)
    terms = [terms_or_zeros(x, each, order) for x, each in zip(primals_in, series_in, strict=True)]
    result = prim.bind(*primals_in, **params)
    moved = [prim.bind(*of_order, **params) for of_order in zip(*terms, strict=True)]
    if prim.multiple_results:
        return result, [list(of_result) for of_result in zip(*moved, strict=True)]
    return result, moved


def termwise(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Applies a primitive that is linear near its operands: its jvp rule moves each order alone."""
    order = order_of(series_in)
    series = [_without_discrete(x, each) for x, each in zip(primals_in, series_in, strict=True)]
    if all(each is zero_series for each in series):
        return zero_prop(prim, primals_in, series_in, **params)
    rule = jvp_rules[prim]
    primals_out: Any = None
    moved = []
    for k in range(order):
        tangents = [
            Zero.of(x) if each is zero_series else each[k]
            for x, each in zip(primals_in, series, strict=True)
        ]
        primals_out, tangents_out = rule(primals_in, tangents, **params)
        moved.append(tangents_out)
    if not prim.multiple_results:
        return primals_out, _joined(moved)
    return primals_out, [_joined(of_result) for of_result in zip(*moved, strict=True)]


def _without_discrete(value: Any, terms: Any) -> Any:
    """The terms of a value that has tangents, as arrays; `zero_series` for integers."""
    if terms is zero_series or not has_tangents(aval_of(value).dtype):
        return zero_series
    return terms_or_zeros(value, terms, len(terms))


def _joined(tangents: Sequence[Any]) -> Any:
    if all(tangent.__class__ is Zero for tangent in tangents):
        return zero_series
    return [instantiate(tangent) for tangent in tangents]


def along_curve(
    rule: Callable[..., tuple[Sequence[Any], Sequence[Any]]],
    primals: Sequence[Any],
    series: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    """Pushes series through a function of which the derivative is known.

    Along the curve ``x(t)`` the result moves with ``y' = jvp(x, x')``. The right-hand side is a
    function of two curves, whose series are one term shorter; integrated, its series is that of
    ``y``. In the end, the jvp rule is applied to values and plain tangents.

    Args:
      rule: from values and tangents, which may be `Zero`, to lists of results and their tangents.
      primals: the operands.
      series: their terms.

    Returns:
      The results and their terms.
    """
    from .trace import JetTrace  # applies the rules of this module's table

    order = order_of(series)
    series = [_without_discrete(x, each) for x, each in zip(primals, series, strict=True)]
    velocities = [each if each is zero_series else velocity(each) for each in series]
    if order == 1:
        tangents = [
            Zero.of(x) if each is zero_series else each[0]
            for x, each in zip(primals, velocities, strict=True)
        ]
        results, moved = rule(primals, tangents)
        return list(results), [_joined([tangent]) for tangent in moved]
    trace = JetTrace(None, current.trace, order - 1)
    curves = [
        trace.pair(x, each if each is zero_series else each[:-1])
        for x, each in zip(primals, series, strict=True)
    ]
    tangents = [
        Zero.of(x) if each is zero_series else trace.pair(each[0], each[1:])
        for x, each in zip(primals, velocities, strict=True)
    ]
    with set_current_trace(trace):
        results, moved = rule(curves, tangents)
    results = [trace.unpair(result)[0] for result in results]
    pairs = [None if tangent.__class__ is Zero else trace.unpair(tangent) for tangent in moved]
    trace.finished = True
    return results, [
        zero_series
        if pair is None
        else integral([pair[0], *terms_or_zeros(pair[0], pair[1], order - 1)])
        for pair in pairs
    ]


def by_jvp_rule(
    prim: Primitive, primals_in: Sequence[Any], series_in: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """Applies a primitive by what `along_curve` makes of its jvp rule."""
    if all(
        _without_discrete(x, each) is zero_series
        for x, each in zip(primals_in, series_in, strict=True)
    ):
        return zero_prop(prim, primals_in, series_in, **params)
    jvp_rule = jvp_rules[prim]
    if prim.multiple_results:
        return along_curve(
            lambda primals, tangents: jvp_rule(primals, tangents, **params), primals_in, series_in
        )

    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        result, tangent = jvp_rule(primals, tangents, **params)
        return [result], [tangent]

    (result,), (terms,) = along_curve(rule, primals_in, series_in)
    return result, terms


# ---- functions of one operand, by their derivative ----


def deriv_prop(
    prim: Primitive,
    deriv: Callable[[Any], Any],
    primals_in: Sequence[Any],
    series_in: Sequence[Any],
) -> tuple[Any, Any]:
    """Applies a primitive of one operand, without parameters, by its derivative.

    Args:
      prim: the primitive.
      deriv: from the operand to the derivative of the result by it.
      primals_in: the operand.
      series_in: its terms.
    """
    return _by_derivative(prim, deriv, primals_in, series_in)


def _by_derivative(
    prim: Primitive,
    deriv: Callable[[Any], Any],
    primals_in: Sequence[Any],
    series_in: Sequence[Any],
    **params: Any,
) -> tuple[Any, Any]:
    from .trace import jet_flat  # applies the rules of this module's table

    (x,), (terms,) = primals_in, series_in
    terms = terms_or_zeros(x, terms, len(terms))
    result = prim.bind(x, **params)
    if len(terms) == 1:
        slopes = [deriv(x)]
    else:
        (slope,), (slope_terms,) = jet_flat(
            lambda operand: [deriv(operand)], [x], [terms[:-1]], len(terms) - 1
        )
        slopes = [slope, *terms_or_zeros(slope, slope_terms, len(terms) - 1)]
    moved = [None, *velocity(terms)]
    rates = [convolution(moved, slopes, k, 1, k + 1) for k in range(1, len(moved))]
    shape = shape_of(result)
    return result, [broadcast_to(term, shape) for term in integral(rates)]


# ---- what third parties define rules with ----


def deflinear(prim: Primitive) -> None:
    """Says of a primitive that it is linear in all operands together."""
    _assign(prim, lambda primals, series, **params: linear_prop(prim, primals, series, **params))


def defzero(prim: Primitive) -> None:
    """Says of a primitive that its results do not move with its operands."""
    _assign(prim, lambda primals, series, **params: zero_prop(prim, primals, series, **params))


def def_deriv(prim: Primitive, deriv: Callable[[Any], Any]) -> None:
    """Defines the Taylor rule of a primitive of one operand by its derivative.

    Args:
      prim: the primitive.
      deriv: from the operand to the derivative of the result by it.
    """
    _assign(
        prim,
        lambda primals, series, **params: _by_derivative(prim, deriv, primals, series, **params),
    )


def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Defines the Taylor rule of a primitive as that of a function of simpler ones.

    Args:
      prim: the primitive.
      comp: the function, which takes the operands and the primitive's parameters.
      **kwargs: more keyword arguments of ``comp``.
    """
    from .trace import jet_flat  # applies the rules of this module's table

    def rule(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        def flat(*operands: Any) -> Sequence[Any]:
            result = comp(*operands, **params, **kwargs)
            return result if prim.multiple_results else [result]

        results, terms = jet_flat(flat, primals, series, order_of(series))
        return (results, terms) if prim.multiple_results else (results[0], terms[0])

    _assign(prim, rule)
