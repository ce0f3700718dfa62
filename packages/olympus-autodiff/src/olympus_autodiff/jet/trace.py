# SPDX-License-Identifier: Apache-2.0
"""Pushing truncated power series along with the computation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.adapters.wrapped_functions import transformation2, transformation_with_aux2
from olympus_ir.diagnostics.source_info import TransformationName
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.conversion import convert_dtype
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import varying_alike
from olympus_ir.programs.tracing import (
    Trace,
    closed_over,
    current,
    register_tracer_type,
    set_current_trace,
    transforming,
)
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import ArrayBase

from ..forward.jvp import (
    check_constants,
    check_results_are_arrays,
    expand,
    is_float0,
    tangents_for_rule,
)
from ..forward.tracers import PrimalTracer
from ..tables import broadcast_to, concerns_refs, jvp_rules, load_rules
from ..zeros import SymbolicZero, Zero, aval_of, has_tangents
from .series import over, terms_or_zeros, times, zero_series
from .tables import along_curve, by_jvp_rule, jet_rules

__all__ = [
    "JetTrace",
    "JetTracer",
    "jet",
    "jet2",
    "jet_flat",
    "jet_fun",
    "jet_subtrace",
    "traceable",
]

JET = TransformationName("jet")


@register_tracer_type
class JetTracer(PrimalTracer):
    """A value together with the higher coefficients of a power series that begins with it.

    Attributes:
      terms: the coefficients of the first power and higher ones, not scaled by factorials.
    """

    __slots__ = ("terms",)

    def __init__(self, trace: JetTrace, primal: Any, terms: Sequence[Any]) -> None:
        self._trace = trace
        self.primal = primal
        self.terms = terms

    def __repr__(self) -> str:
        return f"JetTracer<{self.aval.str_short()}>"


class JetTrace(Trace):
    """Applies primitives to power series by the rules of `jet_rules`.

    Args:
      tag: identifies the transformation for libraries; not looked at.
      parent_trace: the trace around it.
      order: the number of terms of each series.
    """

    __slots__ = ("order", "tag")

    parent: Trace  # pyright: ignore[reportIncompatibleVariableOverride] - never None here

    def __init__(self, tag: Any, parent_trace: Trace, order: int) -> None:
        super().__init__(parent_trace)
        self.tag = tag
        self.order = order
        load_rules()

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        if primitive.takes_refs and concerns_refs(primitive, args):
            from ..forward.held_references import apply_to_refs  # most programs have no references

            result = apply_to_refs(self, primitive, args, params)
            if result is not NotImplemented:
                return result
        if len(args) > 1 and current.axes.varying and primitive.spreads_varying:
            with set_current_trace(self):
                args = varying_alike(args)
        primals, series, moving = self.split(args)
        if not moving:
            return primitive.bind_with_trace(self.parent, args, params)
        rule = jet_rules.rules.get(primitive)
        if rule is None:
            if primitive not in jvp_rules:
                return expand(self, primitive, args, params)
            with set_current_trace(self.parent):
                results, terms = by_jvp_rule(primitive, primals, series, **params)
        else:
            with set_current_trace(self.parent):
                results, terms = rule(primals, series, **params)
        if primitive.multiple_results:
            return list(map(self.pair, results, terms))
        return self.pair(results, terms)

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        """The operands' values and terms, and whether any of them moves."""
        pairs = [self.to_primal_terms_pair(arg) for arg in args]
        series = [terms for _, terms in pairs]
        return [x for x, _ in pairs], series, any(each is not zero_series for each in series)

    def to_primal_terms_pair(self, val: Any) -> tuple[Any, Any]:
        """A value and its terms, `zero_series` where it does not move."""
        if val.__class__ is JetTracer and val._trace is self:
            return val.primal, val.terms
        return val, zero_series

    unpair = to_primal_terms_pair

    def pair(self, primal: Any, terms: Any) -> Any:
        """A value with its terms; the value alone where it does not move."""
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
        """Pushes series through a function with a jvp rule: all its derivatives follow from it."""
        primals, series, moving = self.split(args)
        constants = [
            Zero.of(x) if each is zero_series else each[0]
            for x, each in zip(primals[:num_consts], series, strict=False)
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
        """Pushes series through the function itself: a backward pass says nothing of them."""
        with set_current_trace(self):
            return fun(*args)


def _is_zero(tangent: Any) -> bool:
    return tangent.__class__ in (Zero, SymbolicZero) or is_float0(tangent)


# ---- functions of flat operands ----


def jet_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], series: Sequence[Any], order: int
) -> tuple[list[Any], list[Any]]:
    """Pushes series, which may be `zero_series`, through a function of flat operands.

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


@transformation2
def jet_subtrace(
    fun: Callable[..., Any], tag: Any, order: int, primals: Sequence[Any], series: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The transformation of a wrapped function that pushes series; those out may be symbolic.

    The function takes and returns flat operands; the transformed one takes a tag, the order, the
    operands and for each its terms.
    """
    trace = JetTrace(tag, current.trace, order)
    inputs = [
        trace.pair(x, zero_series if each is zero_series or not len(each) else each)
        for x, each in zip(primals, series, strict=True)
    ]
    with set_current_trace(trace):
        results = fun(*inputs)
    pairs = [trace.unpair(result) for result in results]
    trace.finished = True
    return [primal for primal, _ in pairs], [terms for _, terms in pairs]


@transformation2
def jet_fun(
    fun: Callable[..., Any], order: int, primals: Sequence[Any], series: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """The transformation around `jet_subtrace` that makes all terms that come out arrays."""
    results, terms = fun(object(), order, primals, series)
    return results, [terms_or_zeros(x, each, order) for x, each in zip(results, terms, strict=True)]


@transformation_with_aux2
def traceable(
    fun: Callable[..., Any], store: Any, in_tree_def: Any, *primals_and_series: Any
) -> Any:
    """The transformation of a function of values and terms into one of their leaves alone.

    The structure of what comes out is stored.
    """
    primals, series = pytrees.tree_unflatten(in_tree_def, primals_and_series)
    leaves, tree = pytrees.tree_flatten(fun(primals, series))
    store.store(tree)
    return leaves


# ---- the transformation ----


@api_boundary
def jet(
    fun: Callable[..., Any],
    primals: Any,
    series: Any,
    factorial_scaled: bool = True,
    **_: Any,
) -> tuple[Any, Any]:
    """Computes derivatives of all orders up to some one along a curve, in one pass.

    The curve is a polynomial ``h(t)`` in each argument, and what is computed are the value of
    ``fun(h(t))`` and its derivatives by ``t`` at zero. The cost grows with the square of the order,
    where nested `jvp` takes twice as long with each order.

    Args:
      fun: the function. Its arguments are arrays or pytrees of arrays.
      primals: a tuple or list of the arguments.
      series: for each argument the derivatives of the curve, from the first one on: a tuple or
        list of arrays of the argument's shape, equally many for all arguments. For an argument
        that is a pytree, a pytree of the same structure with such a list for each array.
      factorial_scaled: whether the terms are derivatives; otherwise they are the coefficients of
        power series, which are derivatives divided by factorials. Those that come out likewise.

    Returns:
      ``(result, series)``, where the series has for each array of the result a list of its terms.

    Raises:
      TypeError: where primals or series are no tuples or lists of terms.
      ValueError: where numbers of terms differ, or a term has not the shape of its argument.

    See Also:
      jvp: the first derivative along a direction.

    Example:
      The sine and its derivatives along a straight line.

      >>> from olympus_ir import lax
      >>> value, terms = jet(lax.sin, (0.0,), ((1.0, 0.0, 0.0),))
      >>> [float(term) for term in terms]
      [1.0, 0.0, -1.0]
    """
    result, terms = _jet(fun, primals, series, factorial_scaled)
    return result, pytrees.tree_map(list, terms, is_leaf=lambda each: each.__class__ is _Terms)


@api_boundary
def jet2(
    fun: Callable[..., Any],
    primals: Any,
    series: Any,
    *,
    factorial_scaled: bool = False,
    **_: Any,
) -> tuple[Any, Any]:
    """As `jet`, with coefficients of power series for terms, and tuples of those that come out.

    Example:
      >>> from olympus_ir import lax
      >>> jet2(lambda x: lax.mul(x, x), (3.0,), ((1.0, 0.0),))[1]
      (Array(6., dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True))
    """
    result, terms = _jet(fun, primals, series, factorial_scaled)
    return result, pytrees.tree_map(tuple, terms, is_leaf=lambda each: each.__class__ is _Terms)


class _Terms(list):
    """The terms of one array of a result: a leaf, whatever pytrees make of lists."""


def _jet(
    fun: Callable[..., Any], primals: Any, series: Any, factorial_scaled: bool
) -> tuple[Any, Any]:
    if not callable(fun):
        raise TypeError(f"jet expects a function, got {fun!r} of type {type(fun).__name__}")
    for name, value in (("primals", primals), ("series", series)):
        if not isinstance(value, tuple | list):
            raise TypeError(
                f"{name} of jet must be a tuple or list with one entry for each argument, got "
                f"{value!r} of type {type(value).__name__}"
            )
    if len(primals) != len(series):
        raise ValueError(
            f"jet takes one series for each argument, got {len(primals)} primals and "
            f"{len(series)} series"
        )
    leaves, tree = pytrees.tree_flatten(tuple(primals))
    given = tree.flatten_up_to(tuple(series))
    order = _common_order(given)
    scales = [math.factorial(k) if factorial_scaled else 1 for k in range(1, order + 1)]
    inputs = [
        [over(_checked_term(x, term), scale) for term, scale in zip(terms, scales, strict=True)]
        for x, terms in zip(leaves, given, strict=True)
    ]
    out_tree: Any = None

    def flat(*operands: Any) -> list[Any]:
        nonlocal out_tree
        results, out_tree = pytrees.tree_flatten(fun(*pytrees.tree_unflatten(tree, operands)))
        return results

    results, terms = jet_flat(flat, leaves, inputs, order)
    check_results_are_arrays(results)
    outputs = [
        _Terms(
            _array(times(scale, term))
            for term, scale in zip(_terms_out(x, each, order), scales, strict=True)
        )
        for x, each in zip(results, terms, strict=True)
    ]
    return pytrees.tree_unflatten(out_tree, results), pytrees.tree_unflatten(out_tree, outputs)


def _terms_out(result: Any, terms: Any, order: int) -> Sequence[Any]:
    """The terms of a result; those of integers are zeros of the type float."""
    if terms is zero_series and not has_tangents(aval_of(result).dtype):
        result = lax.full(aval_of(result).shape, 0.0)
    return terms_or_zeros(result, terms, order)


def _array(term: Any) -> Any:
    """A term that may be a number, as an array."""
    return term if isinstance(term, ArrayBase) else lax.copy(term)


def _common_order(series: Sequence[Any]) -> int:
    orders = set()
    for terms in series:
        try:
            orders.add(len(terms))
        except TypeError:
            raise TypeError(
                "jet takes a tuple or list of terms for each argument, got "
                f"{terms!r} of type {type(terms).__name__}"
            ) from None
    if len(orders) > 1:
        raise ValueError(
            "jet terms have inconsistent lengths for different arguments: got series with "
            f"{' and '.join(map(str, sorted(orders)))} terms"
        )
    if not orders:
        raise ValueError("jet takes at least one argument with a series: got none")
    return orders.pop()


def _checked_term(primal: Any, term: Any) -> Any:
    """A term in the shape and, for inexact ones, the dtype of its argument."""
    aval, given = aval_of(primal), aval_of(term)
    if given.shape != aval.shape:
        if given.shape:
            raise ValueError(
                f"jet terms must have the shape of their argument; got shape {aval.shape} and a "
                f"term of shape {given.shape}"
            )
        term = broadcast_to(term, aval.shape)
    if given.dtype != aval.dtype and dtypes.issubdtype(aval.dtype, np.inexact):
        return convert_dtype(term, aval.dtype)
    if dtypes.issubdtype(given.dtype, np.integer):
        return convert_dtype(term, dtypes.canonicalize_dtype(np.float32))
    return term
