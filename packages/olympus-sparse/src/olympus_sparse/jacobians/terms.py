# SPDX-License-Identifier: Apache-2.0
"""Linear values as sums of terms, which belong to known columns of the Jacobian.

Let a value be linear in the argument's tangent. A term has one column and one coefficient for each
element of the value. The value is the sum over its terms of the coefficient times the tangent of
the column. Columns are known when the program is traced, coefficients when it runs. Coefficients
that follow from constants alone are arrays of NumPy. A coefficient of rank zero holds for all
elements.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp

__all__ = [
    "Linear",
    "Term",
    "Unsupported",
    "added",
    "broadcast",
    "checked",
    "expanded",
    "filled",
    "is_known",
    "picked",
    "times",
]

# The largest number of terms of one value.
MOST_TERMS = 64
# The largest number of elements over which a rule sums term by term.
MOST_SUMMED = 32


class Unsupported(Exception):
    """Raised if the entries of a Jacobian cannot be computed term by term."""


class Term(NamedTuple):
    """Summand of a linear value.

    Attributes:
      columns: the column for each element; -1 where the term has no entry.
      coefficient: the coefficients, of the shape of ``columns`` or of rank zero.
      rows: the flat index of the value's element for each entry; None for terms with the shape of
        the value, which have one entry for each element.
    """

    columns: np.ndarray
    coefficient: Any
    rows: np.ndarray | None = None


class Linear(NamedTuple):
    """Value that is linear in the tangent.

    Attributes:
      aval: the type of the value.
      terms: the terms.
    """

    aval: Any
    terms: tuple[Term, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def size(self) -> int:
        return math.prod(self.aval.shape)

    @property
    def extent(self) -> int:
        """The number of elements, or the largest number of entries of a term if that is larger."""
        return max(self.size, *(term.columns.size for term in self.terms), 1)


def is_known(value: Any) -> bool:
    """Returns whether a value follows from constants alone."""
    return isinstance(value, np.ndarray | np.generic)


def times(left: Any, right: Any) -> Any:
    """Returns the product of two coefficients, which is known if both are known."""
    for factor, rest in ((left, right), (right, left)):
        if is_known(factor) and np.ndim(factor) == 0 and factor == 1:
            return rest
    if is_known(left) and is_known(right):
        return np.multiply(left, right)
    return jnp.multiply(left, right)


def filled(coefficient: Any, shape: Sequence[int]) -> Any:
    """Returns a coefficient for each element of a shape."""
    if np.shape(coefficient) == tuple(shape):
        return coefficient
    broadcast = np.broadcast_to if is_known(coefficient) else jnp.broadcast_to
    return broadcast(coefficient, shape)


def picked(coefficient: Any, indices: np.ndarray) -> Any:
    """Returns the coefficients at flat indices; negative indices select arbitrary elements."""
    if np.ndim(coefficient) == 0:
        return coefficient
    flat = coefficient.reshape(-1)
    indices = np.maximum(indices, 0)
    if is_known(flat):
        return flat[indices]
    first = int(indices[0]) if indices.size else 0
    if indices.ndim == 1 and np.array_equal(indices, np.arange(first, first + indices.size)):
        return flat[first : first + indices.size]
    return flat.at[indices].get(mode="promise_in_bounds")


def broadcast(value: Linear, shape: tuple[int, ...]) -> list[Term]:
    """Returns the terms of a value that is broadcast to a shape, as operands of operations are."""
    if value.shape == shape:
        return list(value.terms)
    terms = []
    for term in value.terms:
        if term.rows is not None:
            ids = np.arange(value.size).reshape(value.shape)
            terms.append(expanded(term, np.broadcast_to(ids, shape)))
            continue
        coefficient = term.coefficient
        if np.ndim(coefficient):
            coefficient = filled(filled(coefficient, value.shape), shape)
        terms.append(Term(np.broadcast_to(term.columns, shape), coefficient))
    return terms


def expanded(term: Term, ids: np.ndarray) -> Term:
    """Moves a term with rows to a value whose element ``i`` is the old value's element ``ids[i]``.

    An element with a negative index is none of the old elements. Old elements may occur repeatedly.
    """
    assert term.rows is not None
    flat = ids.ravel()
    order = np.argsort(flat, kind="stable")
    first = np.searchsorted(flat, term.rows, "left", sorter=order)
    counts = np.searchsorted(flat, term.rows, "right", sorter=order) - first
    if counts.sum() > MOST_TERMS * max(flat.size, counts.size):
        raise Unsupported("sums are broadcast")
    source = np.repeat(np.arange(counts.size), counts)
    within = np.arange(source.size) - np.repeat(np.cumsum(counts) - counts, counts)
    rows = order[np.repeat(first, counts) + within]
    return Term(term.columns[source], picked(term.coefficient, source), rows)


def checked(terms: Sequence[Term], size: int) -> tuple[Term, ...]:
    """Returns terms that have entries; raises `Unsupported` if they are too many.

    Args:
      terms: the terms.
      size: the number of entries that a term may have.
    """
    kept = tuple(map(_without_gaps, filter(lambda term: (term.columns >= 0).any(), terms)))
    if len(kept) > MOST_TERMS or sum(term.columns.size for term in kept) > MOST_TERMS * size:
        raise Unsupported("there are many terms")
    return kept


def _without_gaps(term: Term) -> Term:
    """Returns a term as a list of entries if less than half of the elements have an entry."""
    positions = np.flatnonzero(term.columns >= 0)
    if term.rows is not None or 2 * positions.size >= term.columns.size:
        return term
    return Term(term.columns.ravel()[positions], picked(term.coefficient, positions), positions)


def added(terms: Sequence[Term]) -> list[Term]:
    """Adds up the terms with the same columns. The sum of all terms stays the same."""
    found: list[Term] = []
    for term in terms:
        for position, other in enumerate(found):
            if _are_alike(term, other):
                found[position] = _sum(other, term)
                break
        else:
            found.append(term)
    return found


def _are_alike(term: Term, other: Term) -> bool:
    if term.rows is not None or other.rows is not None or term.columns.shape != other.columns.shape:
        return False
    if np.array_equal(term.columns, other.columns):
        return True
    both = (term.columns >= 0) & (other.columns >= 0)
    return bool(both.any()) and np.array_equal(term.columns[both], other.columns[both])


def _sum(term: Term, other: Term) -> Term:
    columns = np.maximum(term.columns, other.columns)
    parts = [_masked(part, columns.shape) for part in (term, other)]
    if all(map(is_known, parts)):
        return Term(columns, np.asarray(parts[0] + parts[1]))
    return Term(columns, jnp.add(*parts))


def _masked(term: Term, shape: tuple[int, ...]) -> Any:
    """Returns the coefficients of a term, zero where it has no entry."""
    if term.columns.min(initial=0) >= 0:
        return term.coefficient
    where = np.where if is_known(term.coefficient) else jnp.where
    return where(term.columns >= 0, term.coefficient, np.zeros((), term.coefficient.dtype))
