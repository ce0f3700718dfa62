# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns, Jacobian terms and origins of elementwise operations.

For most elementwise operations, `propagation` unites the patterns of the operands. This module has
the pattern rules of the other operations.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax

from ..elimination import term_rules
from ..origins import Origin, origin_rules, scaled_origin
from ..patterns import Flow, Pattern, broadcast_rows, merged, select_rows
from ..propagation import numbered, sparsity_rules
from ..terms import Linear, Term, Unsupported, added, broadcast, filled, is_known, picked, times

define = sparsity_rules.define


@define(lax.mul_p)
def _mul(results: Sequence[Any], x: Flow, y: Flow, **_: Any) -> Pattern:
    """Unites the patterns of the factors, leaving out products with constant zeros."""
    shape = results[0].shape
    parts = []
    for factor, other in ((x, y), (y, x)):
        pattern = broadcast_rows(factor, shape)
        if pattern is not None and other.known is not None and not np.all(other.known):
            kept = np.broadcast_to(other.known != 0, shape).ravel()
            pattern = select_rows(pattern, np.where(kept, np.arange(kept.size), -1))
        parts.append(pattern)
    return merged(parts)


@define(lax.select_n_p)
def _select_n(results: Sequence[Any], which: Flow, *cases: Flow, **_: Any) -> Pattern:
    if which.known is None:
        return merged(case.pattern for case in cases)
    arrays, pattern = numbered(cases)
    chosen = np.broadcast_to(which.known, results[0].shape).astype(int)
    return select_rows(pattern, np.choose(chosen, arrays))


@define(lax.stop_gradient_p)
def _stop_gradient(results: Sequence[Any], x: Flow, **_: Any) -> Pattern:
    return None


def _same(results: Sequence[Any], x: Flow, *_: Flow, **params: Any) -> Pattern:
    return x.pattern


for _primitive in (lax.convert_element_type_p, lax.copy_p, lax.reduce_precision_p):
    define(_primitive, _same)


@define(lax.clamp_p)
def _clamp(results: Sequence[Any], low: Flow, x: Flow, high: Flow, **_: Any) -> Pattern:
    return merged(broadcast_rows(operand, results[0].shape) for operand in (low, x, high))


# ---- terms ----


def _scaled(
    x: Linear, factor: Any, shape: tuple[int, ...], apply: Callable[..., Any]
) -> list[Term]:
    """Returns the terms with ``apply(coefficient, factor)`` in place of each coefficient."""
    terms = []
    for term in broadcast(x, shape):
        of_entries = factor
        if term.rows is not None and np.ndim(factor):
            of_entries = picked(filled(factor, shape), term.rows)
        coefficient = apply(term.coefficient, of_entries)
        if np.ndim(coefficient):
            coefficient = filled(coefficient, term.columns.shape)
        terms.append(term._replace(coefficient=coefficient))
    return terms


@term_rules.define(lax.mul_p)
def _mul_terms(results: Sequence[Any], x: Any, y: Any, **_: Any) -> list[Term]:
    x, y = (x, y) if isinstance(x, Linear) else (y, x)
    return _scaled(x, y, results[0].shape, times)


@term_rules.define(lax.div_p)
def _div_terms(results: Sequence[Any], x: Linear, y: Any, **_: Any) -> list[Term]:
    def divided(value: Any, other: Any) -> Any:
        return (
            np.divide(value, other)
            if is_known(value) and is_known(other)
            else jnp.divide(value, other)
        )

    return _scaled(x, y, results[0].shape, divided)


def _negated(terms: Sequence[Term]) -> list[Term]:
    return [term._replace(coefficient=-term.coefficient) for term in terms]


@term_rules.define(lax.neg_p)
def _neg_terms(results: Sequence[Any], x: Linear, **_: Any) -> list[Term]:
    return _negated(x.terms)


def _terms_of(x: Any, shape: tuple[int, ...]) -> list[Term]:
    """Returns the terms of a summand. Summands that are not linear are zero."""
    return broadcast(x, shape) if isinstance(x, Linear) else []


@term_rules.define(lax.sub_p)
def _sub_terms(results: Sequence[Any], x: Any, y: Any, **_: Any) -> list[Term]:
    shape = results[0].shape
    return added([*_terms_of(x, shape), *_negated(_terms_of(y, shape))])


def _add_terms(results: Sequence[Any], x: Any, y: Any, **_: Any) -> list[Term]:
    return added([*_terms_of(x, results[0].shape), *_terms_of(y, results[0].shape)])


for _primitive in (lax.add_p, lax.add_any_p):
    term_rules.define(_primitive, _add_terms)


@term_rules.define(lax.copy_p)
def _copy_terms(results: Sequence[Any], x: Linear, **_: Any) -> Sequence[Term]:
    return x.terms


@term_rules.define(lax.convert_element_type_p)
def _convert_terms(results: Sequence[Any], x: Linear, **_: Any) -> list[Term]:
    dtype = results[0].dtype
    if not np.issubdtype(dtype, np.floating):
        raise Unsupported("a conversion to another kind of numbers")
    return [term._replace(coefficient=term.coefficient.astype(dtype)) for term in x.terms]


@term_rules.define(lax.select_n_p)
def _select_n_terms(results: Sequence[Any], which: Any, *cases: Any, **_: Any) -> list[Term]:
    """Masks the columns of each case if the choice is known, and else its coefficients."""
    shape = results[0].shape
    terms = []
    for position, case in enumerate(cases):
        for term in case.terms if isinstance(case, Linear) else ():
            if term.rows is not None:
                raise Unsupported("a choice among sums")
            chosen = which == position if which.dtype != bool else which == bool(position)
            if is_known(which):
                columns = np.where(chosen, term.columns, -1)
                terms.append(Term(np.broadcast_to(columns, shape), term.coefficient))
            else:
                zero = np.zeros((), term.coefficient.dtype)
                coefficient = filled(jnp.where(chosen, term.coefficient, zero), shape)
                terms.append(Term(term.columns, coefficient))
    return added(terms)


# ---- origins ----


@origin_rules.define(lax.mul_p)
def _mul_origin(results: Sequence[Any], x: Origin, y: Origin, **_: Any) -> Origin | None:
    x, y = (x, y) if y.is_known else (y, x)
    if not y.is_known:
        return None
    return scaled_origin(x, y.factors, results[0].shape, np.multiply)


@origin_rules.define(lax.div_p)
def _div_origin(results: Sequence[Any], x: Origin, y: Origin, **_: Any) -> Origin | None:
    if not y.is_known:
        return None
    return scaled_origin(x, y.factors, results[0].shape, np.divide)


@origin_rules.define(lax.neg_p)
def _neg_origin(results: Sequence[Any], x: Origin, **_: Any) -> Origin:
    return x._replace(factors=-x.factors)


@origin_rules.define(lax.copy_p)
def _copy_origin(results: Sequence[Any], x: Origin, **_: Any) -> Origin:
    return x
