# SPDX-License-Identifier: Apache-2.0
"""The transformations `jet` and `jet2`, and their forms for wrapped functions."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.adapters.wrapped_functions import transformation2, transformation_with_aux2
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.programs.tracing import current, set_current_trace
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import ArrayBase

from ..forward.checks import check_results_are_arrays
from ..tables import broadcast_to
from ..zeros import aval_of, has_tangents
from .series import divided, terms_or_zeros, times, zero_series
from .trace import JetTrace, jet_flat

__all__ = ["jet", "jet2", "jet_fun", "jet_subtrace", "traceable"]


@transformation2
def jet_subtrace(
    fun: Callable[..., Any], tag: Any, order: int, primals: Sequence[Any], series: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Transforms a wrapped function to propagate series. Result terms may be `zero_series`.

    The function takes flat operands and returns flat results. The transformed function takes a
    tag, the order, the operands, and the terms of each operand.
    """
    trace = JetTrace(tag, current.trace, order)
    inputs = [
        trace.pair(x, zero_series if terms is zero_series or not len(terms) else terms)
        for x, terms in zip(primals, series, strict=True)
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
    """Transforms the function of `jet_subtrace` so that all terms of results are arrays."""
    results, terms = fun(object(), order, primals, series)
    return results, [terms_or_zeros(x, term, order) for x, term in zip(results, terms, strict=True)]


@transformation_with_aux2
def traceable(
    fun: Callable[..., Any], store: Any, in_tree_def: Any, *primals_and_series: Any
) -> Any:
    """Transforms a function of values and terms into a function of their leaves.

    Stores the structure of the results in ``store``.
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
    """Computes all derivatives up to a given order along a curve, in one pass.

    The curve is a polynomial ``h(t)`` for each argument. The function computes the value of
    ``fun(h(t))`` and its derivatives with respect to ``t`` at zero. The cost grows with the square
    of the order, whereas the cost of nested `jvp` doubles with each order.

    Args:
      fun: the function. Its arguments are arrays or pytrees of arrays.
      primals: a tuple or list of the arguments.
      series: for each argument, the first and higher derivatives of its curve: a tuple or list of
        arrays of the argument's shape. The lists of all arguments are equally long. For a pytree,
        give a pytree of the same structure with such a list for each array.
      factorial_scaled: True if the terms are derivatives, False if they are coefficients of power
        series, which are derivatives divided by factorials. This holds for arguments and results.

    Returns:
      ``(result, series)``, where the series contains a list of terms for each array of the result.

    Raises:
      TypeError: primals or series are not tuples or lists.
      ValueError: numbers of terms differ.
      ShapeError: a term does not have the shape of its argument.

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
    return result, pytrees.tree_map(list, terms, is_leaf=lambda leaf: leaf.__class__ is _Terms)


@api_boundary
def jet2(
    fun: Callable[..., Any],
    primals: Any,
    series: Any,
    *,
    factorial_scaled: bool = False,
    **_: Any,
) -> tuple[Any, Any]:
    """Computes `jet` with power series coefficients as terms, and returns tuples of terms.

    Example:
      >>> from olympus_ir import lax
      >>> jet2(lambda x: lax.mul(x, x), (3.0,), ((1.0, 0.0),))[1]
      (Array(6., dtype=float32, weak_type=True), Array(1., dtype=float32, weak_type=True))
    """
    result, terms = _jet(fun, primals, series, factorial_scaled)
    return result, pytrees.tree_map(tuple, terms, is_leaf=lambda leaf: leaf.__class__ is _Terms)


class _Terms(list):
    """The terms of one array of a result, as a leaf of pytrees."""


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
    terms_of_leaves = tree.flatten_up_to(tuple(series))
    order = _common_order(terms_of_leaves)
    scales = [math.factorial(k) if factorial_scaled else 1 for k in range(1, order + 1)]
    inputs = [
        [divided(_checked_term(x, term), scale) for term, scale in zip(terms, scales, strict=True)]
        for x, terms in zip(leaves, terms_of_leaves, strict=True)
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
            for term, scale in zip(_terms_out(x, terms_of_result, order), scales, strict=True)
        )
        for x, terms_of_result in zip(results, terms, strict=True)
    ]
    return pytrees.tree_unflatten(out_tree, results), pytrees.tree_unflatten(out_tree, outputs)


def _terms_out(result: Any, terms: Any, order: int) -> Sequence[Any]:
    """Returns the terms of a result. Terms of integers are zeros of the default float dtype."""
    if terms is zero_series and not has_tangents(aval_of(result).dtype):
        result = lax.full(aval_of(result).shape, 0.0)
    return terms_or_zeros(result, terms, order)


def _array(term: Any) -> Any:
    """Converts a term that may be a number to an array."""
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
    """Returns a term in its argument's shape, and in the argument's dtype if that is inexact."""
    aval, term_aval = aval_of(primal), aval_of(term)
    if term_aval.shape != aval.shape:
        if term_aval.shape:
            raise ShapeError(
                f"jet terms must have the shape of their argument; got shape {aval.shape} and a "
                f"term of shape {term_aval.shape}"
            )
        term = broadcast_to(term, aval.shape)
    if term_aval.dtype != aval.dtype and dtypes.issubdtype(aval.dtype, np.inexact):
        return convert_dtype(term, aval.dtype)
    if dtypes.issubdtype(term_aval.dtype, np.integer):
        return convert_dtype(term, dtypes.canonicalize_dtype(np.float32))
    return term
