# SPDX-License-Identifier: Apache-2.0
"""The trace that propagates power series through primitives, by Taylor rules or jvp rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.diagnostics.name_stacks import TransformationName
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import (
    Trace,
    closed_over,
    current,
    register_tracer_type,
    set_current_trace,
    transforming,
)

from ..forward.checks import check_constants, is_float0
from ..forward.dual_trace import DerivativeTrace, PrimalTracer, expand, tangents_for_rule
from ..tables import jvp_rules
from ..zeros import SymbolicZero, Zero
from .series import integral, order_of, terms_or_zeros, velocity, zero_series
from .tables import jet_rules, joined_terms, without_discrete, zero_prop

__all__ = ["JetTrace", "JetTracer", "along_curve", "by_jvp_rule", "jet_flat"]

JET = TransformationName("jet")


@register_tracer_type
class JetTracer(PrimalTracer):
    """A value together with the higher coefficients of its power series.

    Attributes:
      terms: the coefficients from order one on, which include the factors ``1 / k!``.
    """

    __slots__ = ("terms",)

    def __init__(self, trace: JetTrace, primal: Any, terms: Sequence[Any]) -> None:
        self._trace = trace
        self.primal = primal
        self.terms = terms

    def __repr__(self) -> str:
        return f"JetTracer<{self.aval.str_short()}>"


class JetTrace(DerivativeTrace):
    """Trace that applies primitives to power series by the rules of `jet_rules`.

    Args:
      tag: an object that identifies the transformation, as in JAX's `JetTrace`. This trace does not
        use it.
      parent_trace: the enclosing trace.
      order: the number of terms of each series.
    """

    __slots__ = ("order", "tag")

    def __init__(self, tag: Any, parent_trace: Trace, order: int) -> None:
        super().__init__()
        self.parent = parent_trace
        self.tag = tag
        self.order = order

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        """Returns the operands' values and terms, and whether any operand is not constant."""
        pairs = [self.to_primal_terms_pair(arg) for arg in args]
        series = [terms for _, terms in pairs]
        return [x for x, _ in pairs], series, any(terms is not zero_series for terms in series)

    def differentiate(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        primals, series, moving = self.split(args)
        if not moving:
            return primitive.bind_with_trace(self.parent, args, params)
        rule = jet_rules.find(primitive)
        if rule is None:
            if primitive not in jvp_rules:
                return expand(self, primitive, args, params)
            rule = functools.partial(by_jvp_rule, primitive)
        with set_current_trace(self.parent):
            results, terms = rule(primals, series, **params)
        if primitive.multiple_results:
            return list(map(self.pair, results, terms))
        return self.pair(results, terms)

    def to_primal_terms_pair(self, val: Any) -> tuple[Any, Any]:
        """Returns a value and its terms: `zero_series` if the value is constant."""
        if val.__class__ is JetTracer and val._trace is self:
            return val.primal, val.terms
        return val, zero_series

    unpair = to_primal_terms_pair

    def pair(self, primal: Any, terms: Any) -> Any:
        """Returns a tracer of a value and its terms; the value alone if it is constant."""
        return primal if terms is zero_series else JetTracer(self, primal, list(terms))

    def process_custom_jvp_call(
        self,
        primitive: Any,
        fun: Any,
        jvp: Any,
        args: Any,
        *,
        symbolic_zeros: bool,
        num_consts: int = 0,
    ) -> Sequence[Any]:
        """Propagates series through a function by its jvp rule, which determines all orders."""
        primals, series, moving = self.split(args)
        constants = [
            Zero.of(x) if terms is zero_series else terms[0]
            for x, terms in zip(primals[:num_consts], series, strict=False)
        ]
        check_constants("custom_jvp", constants)
        with set_current_trace(self.parent) as parent:
            if not moving:
                return parent.process_custom_jvp_call(
                    primitive,
                    fun,
                    jvp,
                    args,
                    symbolic_zeros=symbolic_zeros,
                    **closed_over(num_consts),
                )

            def rule(operands: Sequence[Any], tangents: Sequence[Any]) -> Any:
                results = jvp(*operands, *tangents_for_rule(tangents, symbolic_zeros))
                half = len(results) // 2
                return results[:half], [
                    Zero.of(result) if _is_zero(tangent) else tangent
                    for result, tangent in zip(results[:half], results[half:], strict=True)
                ]

            results, terms = along_curve(rule, primals, series)
        return list(map(self.pair, results, terms))

    def process_custom_vjp_call(
        self,
        primitive: Any,
        fun: Any,
        fwd: Any,
        bwd: Any,
        args: Any,
        *,
        out_trees: Any,
        symbolic_zeros: bool,
        num_consts: int = 0,
    ) -> Sequence[Any]:
        """Propagates series through the function itself, because a backward pass has no Taylor
        rule.
        """
        with set_current_trace(self):
            return fun(*args)


def _is_zero(tangent: Any) -> bool:
    return tangent.__class__ in (Zero, SymbolicZero) or is_float0(tangent)


# ---- primitives without a Taylor rule ----


def along_curve(
    rule: Callable[..., tuple[Sequence[Any], Sequence[Any]]],
    primals: Sequence[Any],
    series: Sequence[Any],
) -> tuple[list[Any], list[Any]]:
    """Propagates series through a function with a known jvp rule.

    Along the curve ``x(t)`` the result has the derivative ``y' = jvp(x, x')``. The series of ``y'``
    has one term less, so `along_curve` computes it by recursion and integrates it to the series of
    ``y``. The recursion ends with the jvp rule applied to values and plain tangents.

    Args:
      rule: maps values and tangents, which may be `Zero`, to lists of results and their tangents.
      primals: the operands.
      series: their terms.

    Returns:
      The results and their terms.
    """
    order = order_of(series)
    series = [without_discrete(x, terms) for x, terms in zip(primals, series, strict=True)]
    velocities = [terms if terms is zero_series else velocity(terms) for terms in series]
    if order == 1:
        tangents = [
            Zero.of(x) if terms is zero_series else terms[0]
            for x, terms in zip(primals, velocities, strict=True)
        ]
        results, moved = rule(primals, tangents)
        return list(results), [joined_terms([tangent]) for tangent in moved]
    trace = JetTrace(None, current.trace, order - 1)
    curves = [
        trace.pair(x, terms if terms is zero_series else terms[:-1])
        for x, terms in zip(primals, series, strict=True)
    ]
    tangents = [
        Zero.of(x) if terms is zero_series else trace.pair(terms[0], terms[1:])
        for x, terms in zip(primals, velocities, strict=True)
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
    """Propagates series through a primitive by its jvp rule; see `along_curve`."""
    if all(
        without_discrete(x, terms) is zero_series
        for x, terms in zip(primals_in, series_in, strict=True)
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


# ---- functions of flat operands ----


def jet_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], series: Sequence[Any], order: int
) -> tuple[list[Any], list[Any]]:
    """Propagates series, which may be `zero_series`, through a function of flat operands.

    Returns:
      The results and their terms, which may be `zero_series`.
    """
    if order == 0:
        results = list(fun(*primals))
        return results, [zero_series] * len(results)
    trace = JetTrace(None, current.trace, order)
    with set_current_trace(trace), transforming(JET):
        results = fun(*map(trace.pair, primals, series))
    pairs = [trace.unpair(result) for result in results]
    trace.finished = True
    return [primal for primal, _ in pairs], [terms for _, terms in pairs]
