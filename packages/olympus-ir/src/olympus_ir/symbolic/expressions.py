# SPDX-License-Identifier: Apache-2.0
"""Symbolic dimensions: polynomials with integer coefficients over variables and operations.

A dimension is kept in a normal form: a sum of terms. A term is a product of factors. A factor is a
variable, or one of the operations ``floordiv``, ``mod``, ``max`` and ``min`` of other dimensions.
Two dimensions are equal if their difference is the number zero. Arithmetic returns a Python integer
if the result is a number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from ..diagnostics.errors import InconclusiveDimensionOperation
from ..diagnostics.traceback_filtering import boundary_class
from ..lax.shaping.dimensions import dim_as_value_p
from ..programs.tracing import Tracer
from ..types.arrays import Array
from ..types.avals import ShapedArray, register_value_type
from ..types.dtypes import canonicalize_dtype

Dimension: TypeAlias = "int | SymbolicDim"

# The operations, in the order in which terms are sorted.
_OPERATIONS = ("floordiv", "mod", "max", "min")


class Factor:
    """Variable, or operation applied to two dimensions.

    Attributes:
      name: the name of the variable, or of the operation.
      operands: the operands of the operation; empty for variables.
      key: the key by which factors are compared and sorted.
    """

    __slots__ = ("key", "name", "operands")

    def __init__(self, name: str, operands: tuple[Dimension, ...] = ()) -> None:
        self.name = name
        self.operands = operands
        if operands:
            keys = tuple(map(_key_of, operands))
            size = 2 + sum(key[0] for key in keys)
            self.key: tuple = (size, 1 + _OPERATIONS.index(name), "", keys)
        else:
            self.key = (1, 0, name, ())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Factor) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)

    def __str__(self) -> str:
        if not self.operands:
            return self.name
        return f"{self.name}({', '.join(map(_shown, self.operands))})"


def _shown(dimension: Dimension) -> str:
    """Formats a dimension, with a space after the sign of a negative number, as in sums."""
    if isinstance(dimension, int) and dimension < 0:
        return f"- {-dimension}"
    return str(dimension)


# Factors with their powers, the smallest factor first. The empty tuple is the constant term.
Term: TypeAlias = tuple[tuple[Factor, int], ...]
Polynomial: TypeAlias = dict[Term, int]


def term_key(term: Term) -> tuple:
    size = sum(factor.key[0] * power for factor, power in term)
    return size, len(term), tuple((factor.key, power) for factor, power in reversed(term))


def _key_of(dimension: Dimension) -> tuple:
    if isinstance(dimension, SymbolicDim):
        keys = tuple((term_key(term), count) for term, count in dimension.terms)
        return sum(key[0] for key, _ in keys), keys
    return 0, (((0, 0, ()), dimension),)


def multiply_terms(first: Term, second: Term) -> Term:
    """Returns the product of two terms."""
    if not first or not second:
        return first or second
    powers = dict(first)
    for factor, power in second:
        powers[factor] = powers.get(factor, 0) + power
    return tuple(sorted(powers.items(), key=lambda item: item[0].key))


def divide_terms(numerator: Term, denominator: Term) -> Term | None:
    """Returns the quotient of two terms; None if the quotient is not a term."""
    powers = dict(numerator)
    for factor, power in denominator:
        left = powers.get(factor, 0) - power
        if left < 0:
            return None
        if left:
            powers[factor] = left
        else:
            del powers[factor]
    return tuple(powers.items())


def polynomial_of(dimension: Dimension) -> Polynomial:
    """Returns the coefficients of a dimension by term."""
    if isinstance(dimension, SymbolicDim):
        return dict(dimension.terms)
    return {(): int(dimension)} if dimension else {}


def add_into(polynomial: Polynomial, other: Iterable[tuple[Term, int]], times: int = 1) -> None:
    """Adds a multiple of a polynomial to another polynomial, in place."""
    for term, count in other:
        total = polynomial.get(term, 0) + times * count
        if total:
            polynomial[term] = total
        else:
            polynomial.pop(term, None)


def from_polynomial(polynomial: Polynomial, scope: Any) -> Dimension:
    """Returns the dimension with these coefficients, rewritten by the scope's equalities."""
    if scope.rules:
        polynomial = scope.rewritten(polynomial)
    if not polynomial:
        return 0
    if len(polynomial) == 1 and () in polynomial:
        return polynomial[()]
    return SymbolicDim(polynomial, scope)


def from_factor(factor: Factor, scope: Any) -> Dimension:
    """Returns the dimension that consists of one variable or operation."""
    return from_polynomial({((factor, 1),): 1}, scope)


@boundary_class
class SymbolicDim:
    """Size that depends on dimension variables, such as ``2*a + 1``.

    `symbolic_shape` makes dimensions. Arithmetic with integers and other dimensions of the same
    scope supports ``+``, ``-``, ``*``, ``//`` and ``%``. In arithmetic with other values, the
    dimension becomes an array that holds its size at run time.

    Two dimensions are equal if they are equal for all values of the variables, and different
    otherwise. Comparisons such as ``<`` are decided only if the result is the same for all values.

    Attributes:
      terms: the terms with their coefficients, the largest first.
      scope: the assumptions about the variables.

    Example:
      >>> from olympus_ir.symbolic import symbolic_shape
      >>> a, b = symbolic_shape("a, b")
      >>> (2 * a + b) * a - 1
      a*b + 2*a^2 - 1
      >>> (4 * a) // 2
      2*a
    """

    __slots__ = ("_hash", "scope", "terms")
    _is_symbolic_dimension = True
    # The operators of dimensions take precedence over those of NumPy arrays.
    __array_priority__ = 1000

    def __init__(self, polynomial: Polynomial, scope: Any) -> None:
        items = polynomial.items()
        self.terms = tuple(sorted(items, key=lambda item: term_key(item[0]), reverse=True))
        self.scope = scope
        self._hash = hash((id(scope), self.terms))

    # ---- identity ----

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if isinstance(other, SymbolicDim):
            # Terms are in normal form, in which equal dimensions have equal terms.
            return self.scope is other.scope and self.terms == other.terms
        return False

    def __repr__(self) -> str:
        parts: list[str] = []
        for term, count in self.terms:
            text = "*".join(
                str(factor) if power == 1 else f"{factor}^{power}" for factor, power in term
            )
            size = abs(count)
            if not text:
                text = str(size)
            elif size != 1:
                text = f"{size}*{text}"
            sign = "- " if count < 0 else "+ " if parts else ""
            parts.append(sign + text)
        return " ".join(parts)

    def __copy__(self) -> SymbolicDim:
        return self

    def __deepcopy__(self, memo: Any) -> SymbolicDim:
        return self

    # ---- properties ----

    def variables(self) -> set[str]:
        """Returns the names of the variables in the dimension."""
        names: set[str] = set()
        for term, _ in self.terms:
            for factor, _ in term:
                if factor.operands:
                    for operand in factor.operands:
                        names |= variables_of(operand)
                else:
                    names.add(factor.name)
        return names

    def single_factor(self) -> Factor | None:
        """Returns the only variable or operation of the dimension; None for other dimensions."""
        if len(self.terms) == 1:
            term, count = self.terms[0]
            if count == 1 and len(term) == 1 and term[0][1] == 1:
                return term[0][0]
        return None

    def dimension_as_value(self) -> Any:
        """Returns the size at run time, as a scalar array."""
        return dim_as_value_p.bind(dim=self)

    __olympus_array__ = dimension_as_value
    __jax_array__ = dimension_as_value

    # ---- conversions that need a number ----

    def __int__(self) -> int:
        raise InconclusiveDimensionOperation(
            f"Symbolic dimension '{self}' used in a context that requires a constant"
            f"{_scope_note(self.scope)}"
        )

    def __bool__(self) -> bool:
        # A constant 0 would be an integer, not a symbolic dimension. A symbolic dimension is true
        # even if some values of its variables make it zero.
        return True

    def bounds(self) -> tuple[float, float]:
        """Returns a lower and an upper bound of the dimension."""
        return self.scope.bounds_of(self)

    @staticmethod
    def larger(first: Any, second: Any) -> Any:
        """Returns the larger of two dimensions; at least one is symbolic."""
        return _extreme("max", first, second)

    @staticmethod
    def smaller(first: Any, second: Any) -> Any:
        """Returns the smaller of two dimensions; at least one is symbolic."""
        return _extreme("min", first, second)

    # ---- arithmetic ----

    def __add__(self, other: Any) -> Any:
        if not (operand := _operand(self, other, "addition")):
            return _as_arrays(operator.add, self, other)
        polynomial = dict(self.terms)
        add_into(polynomial, polynomial_of(operand[0]).items())
        return from_polynomial(polynomial, self.scope)

    def __radd__(self, other: Any) -> Any:
        if not _operand(self, other, "addition"):
            return _as_arrays(operator.add, other, self)
        return self + other

    def __neg__(self) -> Dimension:
        return from_polynomial({term: -count for term, count in self.terms}, self.scope)

    def __pos__(self) -> SymbolicDim:
        return self

    def __sub__(self, other: Any) -> Any:
        if not (operand := _operand(self, other, "subtraction")):
            return _as_arrays(operator.sub, self, other)
        return self + -operand[0]

    def __rsub__(self, other: Any) -> Any:
        if not (operand := _operand(self, other, "subtraction")):
            return _as_arrays(operator.sub, other, self)
        return operand[0] + -self

    def __mul__(self, other: Any) -> Any:
        if not (operand := _operand(self, other, "multiplication")):
            return _as_arrays(operator.mul, self, other)
        product: Polynomial = {}
        factors = polynomial_of(operand[0]).items()
        for term, count in self.terms:
            add_into(product, [(multiply_terms(term, t), n) for t, n in factors], count)
        return from_polynomial(product, self.scope)

    def __rmul__(self, other: Any) -> Any:
        if not _operand(self, other, "multiplication"):
            return _as_arrays(operator.mul, other, self)
        return self * other

    def __pow__(self, power: Any) -> Any:
        number = _as_integer(power)
        if number is None:
            if isinstance(power, float | np.floating):
                raise ValueError(
                    "Symbolic dimension cannot be raised to non-integer powers: "
                    f"'{self}' ** '{power}'"
                )
            return _as_arrays(operator.pow, self, power)
        power = number
        if power < 0:
            raise ValueError(
                f"Symbolic dimension cannot be raised to negative powers: '{self}' ** '{power}'"
            )
        result: Any = 1
        for _ in range(power):
            result = result * self
        return result

    def __rpow__(self, other: Any) -> Any:
        return _as_arrays(operator.pow, other, self)

    def __divmod__(self, divisor: Any) -> Any:
        if not (operand := _operand(self, divisor, "division")):
            return _as_arrays(divmod, self, divisor)
        return _divmod(self, operand[0], self.scope)

    def __rdivmod__(self, other: Any) -> Any:
        if not (operand := _operand(self, other, "division")):
            return _as_arrays(divmod, other, self)
        return _divmod(operand[0], self, self.scope)

    def __floordiv__(self, divisor: Any) -> Any:
        if not (operand := _operand(self, divisor, "division")):
            return _as_arrays(operator.floordiv, self, divisor)
        return _divmod(self, operand[0], self.scope)[0]

    def __rfloordiv__(self, other: Any) -> Any:
        if not (operand := _operand(self, other, "division")):
            return _as_arrays(operator.floordiv, other, self)
        return _divmod(operand[0], self, self.scope)[0]

    def __mod__(self, divisor: Any) -> Any:
        if not (operand := _operand(self, divisor, "division")):
            return _as_arrays(operator.mod, self, divisor)
        return _divmod(self, operand[0], self.scope)[1]

    def __rmod__(self, other: Any) -> Any:
        if not (operand := _operand(self, other, "division")):
            return _as_arrays(operator.mod, other, self)
        return _divmod(operand[0], self, self.scope)[1]

    def __truediv__(self, divisor: Any) -> Any:
        return _as_arrays(operator.truediv, self, divisor)

    def __rtruediv__(self, other: Any) -> Any:
        return _as_arrays(operator.truediv, other, self)

    # ---- order ----

    def __ge__(self, other: Any) -> Any:
        return _compare(operator.ge, ">=", self, other)

    def __gt__(self, other: Any) -> Any:
        return _compare(operator.gt, ">", self, other)

    def __le__(self, other: Any) -> Any:
        return _compare(operator.le, "<=", self, other)

    def __lt__(self, other: Any) -> Any:
        return _compare(operator.lt, "<", self, other)


def _as_integer(value: Any) -> int | None:
    """Returns an integer, or the value of a concrete integer array; None for other values."""
    if value.__class__ is int:
        return value
    if isinstance(value, SymbolicDim | Tracer):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _operand(dimension: SymbolicDim, other: Any, operation: str) -> tuple[Dimension] | None:
    """Returns the operand ``other`` of arithmetic on a dimension, as a tuple of one element.

    Returns None unless the operand is a dimension or an integer. ``operation`` names the operation
    in errors.
    """
    if isinstance(other, SymbolicDim):
        if other.scope is not dimension.scope:
            dimension.scope.check_same_scope(
                other, f"for {operation} of '{dimension}' and '{other}'"
            )
        return (other,)
    number = _as_integer(other)
    return None if number is None else (number,)


def _as_arrays(function: Callable[..., Any], *operands: Any) -> Any:
    """Applies a function of arrays to operands, with dimensions converted to arrays.

    Returns NotImplemented if the class of another operand must handle the operation.
    """
    if any(isinstance(operand, Array) for operand in operands):
        return NotImplemented  # the array's operator converts the dimension
    if all(isinstance(operand, _CONVERTED) or hasattr(operand, "ndim") for operand in operands):
        return function(
            *(x.dimension_as_value() if isinstance(x, SymbolicDim) else x for x in operands)
        )
    return NotImplemented


_CONVERTED = (SymbolicDim, np.ndarray, int, float, complex, np.generic)


def _scope_note(scope: Any) -> str:
    note = f"\nUsing symbolic scope {scope}" if scope.constraints else ""
    return (
        f"{note}\nThis error arises for comparison operations with shapes that\n"
        "are non-constant, and the result of the operation cannot be represented as\n"
        "a boolean value for all values of the symbolic dimensions involved.\n"
    )


def _compare(function: Callable[..., bool], sign: str, left: SymbolicDim, right: Any) -> Any:
    if isinstance(right, SymbolicDim) and right.scope is not left.scope:
        left.scope.check_same_scope(right, f"when comparing '{left}' {sign} '{right}'")
    if not _operand(left, right, "comparison"):
        return _as_arrays(function, left, right)
    lower, upper = left.scope.bounds_of(left - right)
    # A comparison that holds at the least favorable bound holds for all values.
    least, most = (lower, upper) if sign in (">=", ">") else (upper, lower)
    if function(least, 0):
        return True
    if not function(most, 0):
        return False
    raise InconclusiveDimensionOperation(
        f"Symbolic dimension comparison '{left}' {sign} '{right}' is inconclusive."
        f"{_scope_note(left.scope)}"
    )


# ---- division ----


def _divmod(dividend: Dimension, divisor: Dimension, scope: Any) -> tuple[Dimension, Dimension]:
    if not isinstance(divisor, SymbolicDim) and divisor == 0:
        raise ZeroDivisionError("integer division or modulo by zero")
    exact = _polynomial_division(dividend, divisor, scope)
    if exact is not None:
        return exact
    if scope.rules and isinstance(divisor, int):
        # A multiple of a number is also a multiple of the negated number.
        if from_factor(Factor("mod", (dividend, -divisor)), scope) == 0:
            opposite = from_factor(Factor("floordiv", (dividend, -divisor)), scope)
            return -opposite, 0
    quotient = from_factor(Factor("floordiv", (dividend, divisor)), scope)
    remainder = from_factor(Factor("mod", (dividend, divisor)), scope)
    return quotient, remainder


def _polynomial_division(
    dividend: Dimension, divisor: Dimension, scope: Any
) -> tuple[Dimension, Dimension] | None:
    """Returns quotient and remainder, computed by long division.

    Returns None unless the remainder is zero, or both the remainder and the divisor are numbers.
    """
    rest, quotient = polynomial_of(dividend), {}
    if isinstance(divisor, SymbolicDim):
        divisor_terms = divisor.terms
        leading_term, leading_count = divisor_terms[0]
    else:
        divisor_terms = (((), divisor),)
        leading_term, leading_count = (), divisor
    while rest:
        term = max(rest, key=term_key)
        count = rest[term]
        term_quotient = divide_terms(term, leading_term)
        if term_quotient is None or (count % leading_count and not (term == () == leading_term)):
            return None
        if count % leading_count:
            break
        factor = count // leading_count
        add_into(quotient, [(term_quotient, factor)])
        add_into(rest, [(multiply_terms(t, term_quotient), n) for t, n in divisor_terms], -factor)
    whole, remainder = divmod(rest.get((), 0), leading_count) if rest else (0, 0)
    add_into(quotient, [((), whole)] if whole else [])
    return from_polynomial(quotient, scope), remainder


# ---- maximum and minimum ----


def max_dim(first: Any, second: Any) -> Any:
    """Returns the larger of two dimensions.

    Example:
      >>> from olympus_ir.symbolic import symbolic_shape
      >>> a, b = symbolic_shape("a, b")
      >>> max_dim(a, b), max_dim(a + 1, a), max_dim(2, 3)
      (max(a, b), a + 1, 3)
    """
    return _extreme("max", first, second)


def min_dim(first: Any, second: Any) -> Any:
    """Returns the smaller of two dimensions.

    Example:
      >>> from olympus_ir.symbolic import symbolic_shape
      >>> a, b = symbolic_shape("a, b")
      >>> min_dim(a, 4), min_dim(a, 1)
      (min(a, 4), 1)
    """
    return _extreme("min", first, second)


def _extreme(name: str, first: Any, second: Any) -> Any:
    dimension = first if isinstance(first, SymbolicDim) else second
    if not isinstance(dimension, SymbolicDim):
        return max(first, second) if name == "max" else min(first, second)
    first, second = (
        operand if isinstance(operand, SymbolicDim) else operator.index(operand)
        for operand in (first, second)
    )
    lower, upper = dimension.scope.bounds_of(first - second)
    if lower >= 0:
        return first if name == "max" else second
    if upper <= 0:
        return second if name == "max" else first
    return from_factor(Factor(name, (first, second)), dimension.scope)


# ---- properties of dimensions ----


def is_symbolic_dim(p: Any) -> bool:
    """Returns whether a dimension is symbolic.

    Example:
      >>> from olympus_ir.symbolic import symbolic_shape
      >>> is_symbolic_dim(3), is_symbolic_dim(symbolic_shape("a")[0] + 1)
      (False, True)
    """
    return isinstance(p, SymbolicDim)


def variables_of(dimension: Dimension) -> set[str]:
    """Returns the names of the variables in a dimension; an empty set for a number."""
    return dimension.variables() if isinstance(dimension, SymbolicDim) else set()


# Implementations of the operations for values without such operators, for example in lowering.
OPERATIONS_OF_DIMENSIONS: dict[str, Callable[[Any, Any], Any]] = {
    "floordiv": operator.floordiv,
    "mod": operator.mod,
    "max": max_dim,
    "min": min_dim,
}


def evaluate(
    dimension: Dimension,
    values: Mapping[str, Any],
    meaning: Mapping[str, Callable[[Any, Any], Any]] = OPERATIONS_OF_DIMENSIONS,
) -> Any:
    """Returns the value of a dimension for given values of the variables.

    Args:
      dimension: a number or a symbolic dimension.
      values: a mapping from the names of variables to integers, dimensions, or other values that
        can be added and multiplied with integers.
      meaning: implementations of the operations for these values.
    """
    if not isinstance(dimension, SymbolicDim):
        return dimension
    total: Any = None
    for term, count in dimension.terms:
        product: Any = None if term and count == 1 else count
        for factor, power in term:
            if factor.operands:
                operands = [evaluate(operand, values, meaning) for operand in factor.operands]
                value = meaning[factor.name](*operands)
            else:
                value = values[factor.name]
            for _ in range(power):
                product = value if product is None else value * product
        total = product if total is None else total + product
    return total


def _aval(dimension: SymbolicDim) -> ShapedArray:
    return ShapedArray((), canonicalize_dtype(np.int64), True)


register_value_type(SymbolicDim, _aval)
