# SPDX-License-Identifier: Apache-2.0
"""Functions with which third parties define Taylor rules, from a derivative or an expansion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.programs.primitives import Primitive

from ..tables import broadcast_to, shape_of
from .series import convolution, integral, order_of, terms_or_zeros, velocity
from .tables import assign_rule, linear_prop, zero_prop
from .trace import jet_flat

__all__ = ["def_comp", "def_deriv", "deflinear", "defzero", "deriv_prop"]


def deriv_prop(
    prim: Primitive,
    deriv: Callable[[Any], Any],
    primals_in: Sequence[Any],
    series_in: Sequence[Any],
) -> tuple[Any, Any]:
    """Applies a primitive of one operand and no parameters. Its Taylor rule follows from ``deriv``.

    Args:
      prim: the primitive.
      deriv: maps the operand to the derivative of the result with respect to the operand.
      primals_in: the operand, in a sequence.
      series_in: the operand's terms, in a sequence.
    """
    return _by_derivative(prim, deriv, primals_in, series_in, {})


def _by_derivative(
    prim: Primitive,
    deriv: Callable[[Any], Any],
    primals_in: Sequence[Any],
    series_in: Sequence[Any],
    params: dict[str, Any],
) -> tuple[Any, Any]:
    """Applies a primitive of one operand by the Taylor rule that follows from ``deriv``."""
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


# ---- functions by which third parties define rules ----


def deflinear(prim: Primitive) -> None:
    """Declares a primitive to be jointly linear in all operands."""
    assign_rule(
        prim, lambda primals, series, **params: linear_prop(prim, primals, series, **params)
    )


def defzero(prim: Primitive) -> None:
    """Declares that the results of a primitive are locally constant."""
    assign_rule(prim, lambda primals, series, **params: zero_prop(prim, primals, series, **params))


def def_deriv(prim: Primitive, deriv: Callable[[Any], Any]) -> None:
    """Defines the Taylor rule of a primitive of one operand by its derivative.

    Args:
      prim: the primitive.
      deriv: maps the operand to the derivative of the result with respect to the operand.
    """
    assign_rule(
        prim,
        lambda primals, series, **params: _by_derivative(prim, deriv, primals, series, params),
    )


def def_comp(prim: Primitive, comp: Callable[..., Any], **kwargs: Any) -> None:
    """Defines a primitive's Taylor rule by an equivalent composition of simpler functions.

    Args:
      prim: the primitive.
      comp: the composition, which takes the operands and the primitive's parameters.
      **kwargs: more keyword arguments of ``comp``.
    """

    def rule(primals: Sequence[Any], series: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        def flat(*operands: Any) -> Sequence[Any]:
            result = comp(*operands, **params, **kwargs)
            return result if prim.multiple_results else [result]

        results, terms = jet_flat(flat, primals, series, order_of(series))
        return (results, terms) if prim.multiple_results else (results[0], terms[0])

    assign_rule(prim, rule)
