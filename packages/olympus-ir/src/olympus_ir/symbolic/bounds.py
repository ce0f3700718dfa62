# SPDX-License-Identifier: Apache-2.0
"""Bounds of symbolic dimensions, which decide comparisons.

A dimension is bounded term by term, and by facts, which are polynomials that are known to be
nonnegative. Facts come from the constraints of the scope, and from properties of operations, such
as ``a - 2*floordiv(a, 2) >= 0``. To use a fact, a multiple of it is subtracted from the dimension,
such that a term vanishes. A lower bound of the remainder is then a lower bound of the dimension.
Combinations of a few facts usually yield the bounds that programs need. Otherwise the comparison is
inconclusive, but never wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from . import expressions

# The maximal number of facts that are combined for one bound.
_DEPTH = 4

Interval = tuple[float, float]


def bounds_of(dimension: Any) -> Interval:
    """Returns a lower and an upper bound of a dimension; infinite if none is known."""
    if not isinstance(dimension, expressions.SymbolicDim):
        return dimension, dimension
    cache = dimension.scope.bounds_cache
    found = cache.get(dimension)
    if found is None:
        scope, terms = dimension.scope, dict(dimension.terms)
        # Recursive calls read this preliminary bound.
        cache[dimension] = bounds_of_terms(terms, scope)
        negated = {term: -count for term, count in terms.items()}
        lower = _greatest_lower(terms, scope, _DEPTH, set())
        found = cache[dimension] = lower, -_greatest_lower(negated, scope, _DEPTH, set())
    return found


def _greatest_lower(terms: dict, scope: Any, depth: int, seen: set) -> float:
    """Returns the best lower bound of a polynomial that can be derived from facts.

    Args:
      terms: the coefficients of the polynomial, by term.
      scope: the scope of the variables.
      depth: the number of facts that may still be combined.
      seen: the combinations that have been tried, to which this call adds its own.
    """
    best = bounds_of_terms(terms, scope)[0]
    if not depth:
        return best
    for term, count in sorted(
        terms.items(), key=lambda item: expressions.term_key(item[0]), reverse=True
    ):
        if not term:
            continue
        cases = _cases(terms, term, count)
        if cases:
            bounds = [_greatest_lower(case, scope, depth - 1, set()) for case in cases]
            best = max(best, min(bounds))
        for fact in _facts_about(term, scope):
            other = fact[term]
            if (other > 0) != (count > 0):
                continue
            # scale * polynomial - times * fact lacks the term; scale and times are positive.
            divisor = math.gcd(count, other)
            scale, times = abs(other) // divisor, abs(count) // divisor
            rest = {t: n * scale for t, n in terms.items()}
            expressions.add_into(rest, fact.items(), -times)
            key = frozenset(rest.items())
            if (key, scale) in seen:
                continue
            seen.add((key, scale))
            bound = _greatest_lower(rest, scope, depth - 1, seen)
            if math.isfinite(bound):
                best = max(best, math.ceil(Fraction(int(bound), scale)))
    return best


def _cases(terms: dict, term: Any, count: int) -> list[dict]:
    """Returns polynomials whose minimum is the given polynomial.

    The term must be a ``min`` with a positive count, or a ``max`` with a negative count; otherwise
    the list is empty. Each polynomial has one operand of the operation in place of the term.
    """
    factor, power = term[0]
    if len(term) > 1 or power > 1 or factor.name != ("min" if count > 0 else "max"):
        return []
    cases = []
    for operand in factor.operands:
        case = {t: n for t, n in terms.items() if t != term}
        expressions.add_into(case, expressions.polynomial_of(operand).items(), count)
        cases.append(case)
    return cases


def bounds_of_terms(terms: dict, scope: Any) -> Interval:
    """Returns the bounds of a polynomial that follow from the bounds of each term."""
    lower: float = 0
    upper: float = 0
    for term, count in terms.items():
        low, high = _bounds_of_term(term, scope)
        low, high = _product((low, high), (count, count))
        lower, upper = lower + low, upper + high
    return lower, upper


def _bounds_of_term(term: Any, scope: Any) -> Interval:
    found = scope.term_bounds.get(term)
    if found is None:
        result: Interval = (1, 1)
        for factor, power in term:
            interval = _bounds_of_factor(factor, scope)
            known = scope.known_bounds.get(((factor, 1),))
            if known is not None:
                interval = _both(interval, known, scope)
            for _ in range(power):
                result = _product(result, interval)
        if term and len(term) == 1 and term[0][1] % 2 == 0:
            result = max(result[0], 0), result[1]
        known = scope.known_bounds.get(term)
        if known is not None:
            result = _both(result, known, scope)
        found = scope.term_bounds[term] = result
    return found


def _both(first: Interval, second: Interval, scope: Any) -> Interval:
    low, high = max(first[0], second[0]), min(first[1], second[1])
    if low > high:
        constraints = ", ".join(constraint.text for constraint in scope.constraints)
        raise ValueError(f"Unsatisfiable constraints: {constraints}")
    return low, high


def _product(first: Interval, second: Interval) -> Interval:
    # Zero times an infinite bound is zero, because the number itself is finite.
    products = [x * y if x and y else 0 for x in first for y in second]
    return min(products), max(products)


def _bounds_of_factor(factor: Any, scope: Any) -> Interval:
    if not factor.operands:
        return 1, math.inf
    first, second = factor.operands
    low, high = bounds_of(first)
    other_low, other_high = bounds_of(second)
    if factor.name == "max":
        return max(low, other_low), max(high, other_high)
    if factor.name == "min":
        return min(low, other_low), min(high, other_high)
    if factor.name == "mod":
        if other_low > 0:
            return 0, other_high - 1
        if other_high < 0:
            return other_low + 1, 0
        return -math.inf, math.inf
    return _quotient((low, high), (other_low, other_high))


def _quotient(dividend: Interval, divisor: Interval) -> Interval:
    if divisor[0] <= 0 <= divisor[1]:
        return -math.inf, math.inf
    quotients = [_floor_quotient(x, y) for x in dividend for y in divisor]
    return min(quotients), max(quotients)


def _floor_quotient(dividend: float, divisor: float) -> float:
    if math.isinf(dividend):
        if math.isinf(divisor):
            return 0 if (dividend > 0) == (divisor > 0) else -1
        return dividend if divisor > 0 else -dividend
    if math.isinf(divisor):
        return 0 if not dividend or (dividend > 0) == (divisor > 0) else -1
    return dividend // divisor


# ---- facts: nonnegative polynomials ----


def _facts_about(term: Any, scope: Any) -> Iterator[dict]:
    """Yields the facts in which a term occurs."""
    yield from scope.facts.get(term, ())
    for fact in _facts_of_operations(term, scope):
        if term in fact:
            yield fact


def _facts_of_operations(term: Any, scope: Any) -> list[dict]:
    found = scope.operation_facts.get(term)
    if found is None:
        found = []
        if len(term) == 1 and term[0][1] == 1 and term[0][0].operands:
            # This entry prevents a recursion through the term's operands.
            scope.operation_facts[term] = ()
            found = [
                expressions.polynomial_of(fact) for fact in _facts_of_factor(term[0][0], scope)
            ]
        scope.operation_facts[term] = found
    return found


def _facts_of_factor(factor: Any, scope: Any) -> Iterator[Any]:
    first, second = factor.operands
    value = expressions.SymbolicDim({((factor, 1),): 1}, scope)
    if factor.name == "max":
        yield value - first
        yield value - second
        return
    if factor.name == "min":
        yield first - value
        yield second - value
        return
    low = bounds_of(first)[0]
    other_low, other_high = bounds_of(second)
    if factor.name == "mod":
        if other_low > 0:
            yield second - value - 1
            if low >= 0:
                yield first - value
        elif other_high < 0:
            yield value - second - 1
        return
    if isinstance(second, int):
        if second > 0:
            yield first - second * value
            yield second * value + (second - 1) - first
        elif second < 0:
            yield second * value - second - 1 - first
    elif other_low > 0 and low >= 0:
        yield first - value  # the divisor is at least one
