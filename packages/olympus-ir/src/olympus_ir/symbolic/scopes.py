# SPDX-License-Identifier: Apache-2.0
"""Scopes of dimension variables, and the constraints on these variables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..diagnostics import source_info
from ..diagnostics.name_stacks import no_names
from ..diagnostics.traceback_filtering import boundary_class
from . import bounds, expressions
from .expressions import Polynomial, SymbolicDim, Term, add_into, divide_terms, multiply_terms
from .parsing import parse_shape


class Constraint:
    """Assumption ``difference >= 0`` or ``difference == 0``.

    Attributes:
      text: the user's text of the constraint.
      is_equality: whether the assumption is an equality.
      difference: the left side of the constraint minus its right side.
    """

    __slots__ = ("difference", "is_equality", "text")

    def __init__(self, text: str, is_equality: bool, difference: Any) -> None:
        self.text = text
        self.is_equality = is_equality
        self.difference = difference


@boundary_class
class SymbolicScope:
    """Assumptions about dimension variables. Variables of different scopes cannot be combined.

    Args:
      constraints_str: assumptions such as ``"a >= 8"``, ``"a <= b"`` or ``"mod(a, 2) == 0"``. The
        left side of an equality must be one term. The right side replaces this term in all
        dimensions.

    Example:
      >>> from olympus_ir.symbolic import symbolic_shape
      >>> scope = SymbolicScope(["a >= b"])
      >>> a, b = symbolic_shape("a, b", scope=scope)
      >>> a >= b
      True
    """

    def __init__(self, constraints_str: Sequence[str] = ()) -> None:
        if isinstance(constraints_str, str):
            raise ValueError(
                f"The symbolic constraints should be a sequence of strings. Got {constraints_str!r}"
            )
        self.constraints: list[Constraint] = []
        # Rewriting rules (term, count, replacement): the replacement equals ``count`` times the
        # term.
        self.rules: list[tuple[Term, int, Polynomial]] = []
        # Nonnegative polynomials, by the terms that occur in them.
        self.facts: dict[Term, list[Polynomial]] = {}
        self.known_bounds: dict[Term, tuple[float, float]] = {}
        # Caches of `bounds`. A new constraint empties them.
        self.bounds_cache: dict[Any, Any] = {}
        self.term_bounds: dict[Any, Any] = {}
        self.operation_facts: dict[Any, Any] = {}
        self._origin = source_info.summarize(
            source_info.SourceInfo(source_info.capture(), no_names)
        )
        for text in constraints_str:
            self._add(text)
        for constraint in self.constraints:
            self._check_satisfiable(constraint)

    def __str__(self) -> str:
        shown = f"{id(self)} created at {self._origin}"
        if self.constraints:
            lines = "".join(f"\n  {constraint.text}" for constraint in self.constraints)
            shown += f" with constraints:{lines}"
        return shown

    __repr__ = __str__

    def check_same_scope(
        self, other: SymbolicDim, when: str = "", own: str = "", others: str = "unknown"
    ) -> None:
        """Raises ValueError if a dimension belongs to another scope."""
        if other.scope is not self:
            raise ValueError(
                f"Invalid mixing of symbolic scopes {when}.\n"
                f"Expected {own} scope {self}\n"
                f"and found for '{other}' ({others}) scope {other.scope}\n"
                "Make the dimensions by one call of symbolic_shape, or pass scope=."
            )

    def assume(self, constraint: str) -> None:
        """Adds an assumption, such as ``"a <= 8"``.

        Raises:
          ValueError: if the text is not such a comparison, or contradicts other assumptions. The
            scope then stays as it was.
        """
        count = len(self.constraints)
        facts = {term: list(polynomials) for term, polynomials in self.facts.items()}
        before = (list(self.constraints), list(self.rules), facts, dict(self.known_bounds))
        try:
            self._add(constraint)
            for added in self.constraints[count:]:
                self._check_satisfiable(added)
        except BaseException:
            self.constraints, self.rules, self.facts, self.known_bounds = before
            self._forget_bounds()
            raise

    def bounds_of(self, dimension: Any) -> bounds.Interval:
        """Returns a lower and an upper bound of a dimension; see `bounds.bounds_of`."""
        return bounds.bounds_of(dimension)

    # ---- constraints ----

    def _add(self, text: str) -> None:
        if not isinstance(text, str):
            raise ValueError(f"SymbolicScope constraint must be a string: got {text!r}")
        sign = next((sign for sign in ("==", ">=", "<=") if sign in text), None)
        if sign is None:
            raise ValueError(
                f"Constraint parsing error: {text!r} must contain one of '==' or '>=' or '<='"
            )
        left, right = (self._parse(side, text) for side in text.split(sign, 1))
        if sign == "==":
            self._add_equality(text, left, right)
        else:
            difference = right - left if sign == "<=" else left - right
            self._add_fact(Constraint(text, False, difference))

    def _check_satisfiable(self, constraint: Constraint) -> None:
        lower, upper = bounds.bounds_of(constraint.difference)
        if upper < 0 or (constraint.is_equality and lower > 0):
            raise ValueError(f"Unsatisfiable constraint: {constraint.text}")

    def _parse(self, side: str, text: str) -> Any:
        parsed = parse_shape(side, self, text)
        if len(parsed) != 1:
            raise ValueError(
                f"Constraint parsing error: each side of {text!r} must be one dimension, got "
                f"{side!r}"
            )
        return parsed[0]

    def _add_fact(self, constraint: Constraint) -> None:
        difference = constraint.difference
        if not isinstance(difference, SymbolicDim):
            if difference < 0:
                raise ValueError(f"Unsatisfiable explicit constraint: {constraint.text}")
            return
        self._record(constraint)
        polynomial = dict(difference.terms)
        self._know(polynomial)

    def _know(self, polynomial: Polynomial) -> None:
        """Assumes that a polynomial is nonnegative, and derives bounds from it."""
        for term in polynomial:
            if term:
                self.facts.setdefault(term, []).append(polynomial)
        terms = [term for term in polynomial if term]
        if len(terms) == 1:
            (term,) = terms
            self._tighten(term, polynomial[term], polynomial.get((), 0))
            self._know_operands(term, *self.known_bounds[term])
            return
        for term in terms:
            self._know_term(term, polynomial)

    def _know_term(self, term: Term, polynomial: Polynomial) -> None:
        """Derives bounds of one term of a nonnegative polynomial."""
        rest = {other: number for other, number in polynomial.items() if other != term}
        most = bounds.bounds_of_terms(rest, self)[1]
        if most == float("inf"):
            return
        self._tighten(term, polynomial[term], most)
        self._forget_bounds()

    def _tighten(self, term: Term, count: int, most: float) -> None:
        """Derives a bound of a term from ``count * term + rest >= 0``, with ``rest <= most``."""
        lower, upper = self.known_bounds.get(term, (-float("inf"), float("inf")))
        if count > 0:
            lower = max(lower, -(most // count))
        else:
            upper = min(upper, most // -count)
        self.known_bounds[term] = lower, upper

    def _know_operands(self, term: Term, lower: float, upper: float) -> None:
        """Derives bounds of an operation's operands from bounds of its value."""
        if len(term) != 1 or term[0][1] != 1 or not term[0][0].operands:
            return
        factor = term[0][0]
        bounded: list[Any] = []
        if factor.name == "max" and upper < float("inf"):
            bounded = [int(upper) - operand for operand in factor.operands]
        elif factor.name == "min" and lower > -float("inf"):
            bounded = [operand - int(lower) for operand in factor.operands]
        elif factor.name == "floordiv" and isinstance(factor.operands[1], int):
            dividend, divisor = factor.operands
            if divisor < 0:
                return
            if lower > -float("inf"):
                bounded.append(dividend - divisor * int(lower))
            if upper < float("inf"):
                bounded.append(divisor * int(upper) + (divisor - 1) - dividend)
        else:
            return
        for difference in bounded:
            if isinstance(difference, SymbolicDim):
                self._know(dict(difference.terms))

    def _record(self, constraint: Constraint) -> None:
        self.constraints.append(constraint)
        self._forget_bounds()

    def _forget_bounds(self) -> None:
        for cache in (self.bounds_cache, self.term_bounds, self.operation_facts):
            cache.clear()

    def _add_equality(self, text: str, left: Any, right: Any) -> None:
        difference = left - right
        if not isinstance(difference, SymbolicDim):
            if difference:
                raise ValueError(f"Unsatisfiable explicit constraint: {text}")
            return
        if not isinstance(left, SymbolicDim) or len(left.terms) != 1:
            raise ValueError(
                f"Invalid equality constraint: {text}. The left-hand-side must be of the form "
                "`term * coefficient`."
            )
        term, count = left.terms[0]
        factor = left.single_factor()
        if factor is not None and factor.name == "mod" and factor.operands and right == 0:
            dividend, divisor = factor.operands
            if isinstance(divisor, int):
                quotient = expressions.Factor("floordiv", (dividend, divisor))
                multiple = expressions.from_factor(quotient, self) * divisor
                if isinstance(multiple, SymbolicDim):
                    self._add_equality(f"{multiple} == {dividend}", multiple, dividend)
        if factor is not None and factor.operands and factor.name in ("max", "min"):
            # Bounds of the operation also hold for the expression that replaces the operation.
            for operand in factor.operands:
                least = right - operand if factor.name == "max" else operand - right
                if isinstance(least, SymbolicDim):
                    self._know(dict(least.terms))
        replacement = expressions.polynomial_of(right)
        if count < 0:
            count, replacement = -count, {t: -n for t, n in replacement.items()}
        self._record(Constraint(text, True, difference))
        self._know(dict(difference.terms))
        self._know({t: -n for t, n in difference.terms})
        self.rules.append((term, count, replacement))

    def rewritten(self, polynomial: Polynomial) -> Polynomial:
        """Returns the polynomial rewritten by the equalities."""
        for _ in range(16):  # each rule may produce terms that match another rule
            changed = False
            for rule_term, rule_count, replacement in self.rules:
                for term, count in list(polynomial.items()):
                    rest = divide_terms(term, rule_term)
                    if rest is None or count % rule_count:
                        continue
                    times = count // rule_count
                    polynomial = dict(polynomial)
                    del polynomial[term]
                    add_into(
                        polynomial,
                        [(multiply_terms(t, rest), n) for t, n in replacement.items()],
                        times,
                    )
                    changed = True
            if not changed:
                break
        return polynomial
