# SPDX-License-Identifier: Apache-2.0
"""Solver that finds the values of dimension variables from the sizes of arguments.

For example, an argument's size for the dimension ``2*a + 1`` determines ``a``. The size for ``a +
b`` then determines ``b``. The values are expressed as dimensions over the sizes of arguments, so
they can be evaluated for integers, for the dimensions of a caller, and in a lowered program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..diagnostics.errors import OlympusError
from ..lax.core.sizes import is_at_most
from .expressions import Factor, SymbolicDim, evaluate, from_factor
from .scopes import SymbolicScope


class UnexpectedDimVar(OlympusError):
    """Error for a dimension variable that does not occur in the shapes of the arguments.

    Args:
      missing: the variable.
      variables: the variables that occur.
    """

    def __init__(self, missing: str, variables: Iterable[str]) -> None:
        super().__init__(
            f"Encountered dimension variable '{missing}' that is not appearing in the shapes of "
            "the function arguments.\nThe following dimension variables are appearing in the "
            f"shapes of the function arguments: {list(variables)}."
        )

    @classmethod
    def _reference(cls) -> str:
        return "See docs/ahead-of-time.md"


class Check:
    """Condition on the sizes of arguments: a dimension is zero, or is nonnegative.

    Attributes:
      dimension: an expression of the sizes of arguments.
      is_equality: True if the dimension must be zero, False if it must be nonnegative.
      message: the error message, which refers to ``values`` as ``{0}``, ``{1}`` ...
      values: dimensions over the sizes of arguments, for the message.
    """

    __slots__ = ("dimension", "is_equality", "message", "values")

    def __init__(
        self, dimension: Any, is_equality: bool, message: str, values: Sequence[Any]
    ) -> None:
        self.dimension = dimension
        self.is_equality = is_equality
        self.message = message
        self.values = tuple(values)

    def verify(self, sizes: Mapping[str, Any]) -> None:
        """Raises ValueError if the sizes do not satisfy the condition.

        Args:
          sizes: a mapping from the names of sizes, such as ``args[0].shape[1]``, to integers or
              dimensions.
        """
        value = evaluate(self.dimension, sizes)
        if value == 0 if self.is_equality else is_at_most(0, value):
            return
        raise ValueError(self.message.format(*(evaluate(dim, sizes) for dim in self.values)))


class Solution:
    """Equations that determine the variables from the sizes of arguments.

    Attributes:
      variables: a mapping from the names of variables to dimensions over the sizes of arguments.
      checks: the conditions on the sizes.
      positions: a mapping from the name of a size to the argument's position and the dimension.
    """

    __slots__ = ("checks", "positions", "variables")

    def __init__(self) -> None:
        self.variables: dict[str, Any] = {}
        self.checks: list[Check] = []
        self.positions: dict[str, tuple[int, int]] = {}

    def values_for(self, shapes: Sequence[Sequence[Any]]) -> dict[str, Any]:
        """Returns the values of the variables for arguments of the given shapes.

        Raises:
          ValueError: if the shapes do not satisfy the conditions.
        """
        sizes = {
            name: shapes[argument][dimension]
            for name, (argument, dimension) in self.positions.items()
        }
        for check in self.checks:
            check.verify(sizes)
        return {name: evaluate(value, sizes) for name, value in self.variables.items()}


def solve(shapes: Sequence[Sequence[Any]], path_of: Callable[[int], str]) -> Solution:
    """Solves for the dimension variables of arguments' shapes.

    Args:
      shapes: the shapes, with symbolic dimensions of one scope.
      path_of: a function that returns the name of the argument at a position, such as ``args[0]``.

    Raises:
      ValueError: if the sizes do not determine the variables.
    """
    solution = Solution()
    sizes_scope = SymbolicScope()
    pending: list[tuple[str, SymbolicDim]] = []
    scope: Any = None
    for argument, shape in enumerate(shapes):
        for position, dimension in enumerate(shape):
            if isinstance(dimension, SymbolicDim):
                name = f"{path_of(argument)}.shape[{position}]"
                solution.positions[name] = (argument, position)
                pending.append((name, dimension))
                scope = dimension.scope
    if not pending:
        return solution
    solver = _Solver(solution, sizes_scope, _specifications(shapes, path_of))
    unsolved = solver.run(pending)
    if unsolved:
        names = sorted(set().union(*(d.variables() for _, d in pending)) - set(solution.variables))
        shown = ", ".join(
            f"'{dimension}' for dimension size {name}" for name, dimension in unsolved
        )
        listed = ", ".join(map(repr, names))
        raise ValueError(
            f"Cannot solve for values of dimension variables {{{listed}}}. "
            "We can only solve linear uni-variate constraints."
            f"{solver.specifications} Unprocessed specifications: {shown}. Pass one more argument "
            "that has such a variable for a dimension."
        )
    for constraint in scope.constraints:
        solver.check_constraint(constraint)
    return solution


def _specifications(shapes: Sequence[Sequence[Any]], path_of: Callable[[int], str]) -> str:
    shown = ",".join(
        f"{path_of(argument)}.shape = {tuple(shape)}"
        for argument, shape in enumerate(shapes)
        if any(isinstance(dimension, SymbolicDim) for dimension in shape)
    )
    return f" Using the following polymorphic shapes specifications: {shown}."


class _Solver:
    def __init__(self, solution: Solution, scope: SymbolicScope, specifications: str) -> None:
        self.solution = solution
        self.scope = scope
        self.specifications = specifications
        # The solved variables, for error messages, with the values that the messages show.
        self.found: list[tuple[str, Any, str, SymbolicDim, Any]] = []

    def size(self, name: str) -> Any:
        return from_factor(Factor(name), self.scope)

    def run(self, pending: list[tuple[str, SymbolicDim]]) -> list[tuple[str, SymbolicDim]]:
        """Solves dimensions one after the other. Returns the dimensions that remain unsolved."""
        while pending:
            left = [item for item in pending if not self._solve_one(*item)]
            if len(left) == len(pending):
                return left
            pending = left
        return []

    def _solve_one(self, name: str, dimension: SymbolicDim) -> bool:
        known = self.solution.variables
        unknown = dimension.variables() - set(known)
        size = self.size(name)
        if not unknown:
            expected = evaluate(dimension, known)
            text = (
                "Input shapes do not match the polymorphic shapes specification. Found "
                f"inconsistency between dimension size {name} (= {{0}}) and the specification "
                f"'{dimension}' (= {{1}})."
            )
            self.check(size - expected, True, text, [size, expected])
            return True
        if len(unknown) > 1:
            return False
        (variable,) = unknown
        count, rest = 0, size
        for term, coefficient in dimension.terms:
            part = SymbolicDim({term: coefficient}, dimension.scope) if term else coefficient
            if len(term) == 1 and term[0][1] == 1 and term[0][0].name == variable:
                count = coefficient
            elif isinstance(part, SymbolicDim) and variable in part.variables():
                return False
            else:
                rest = rest - evaluate(part, known)
        value, remainder = divmod(rest, count)
        if isinstance(remainder, SymbolicDim):
            text = (
                "Input shapes do not match the polymorphic shapes specification. Division had "
                f"remainder {{0}} when computing the value of '{variable}'."
            )
            self.check(remainder, True, text, [remainder])
        known[variable] = value
        self.found.append((variable, value, name, dimension, size))
        text = (
            "Input shapes do not match the polymorphic shapes specification. Expected value >= 1 "
            f"for dimension variable '{variable}'."
        )
        self.check(value - 1, False, text, [])
        return True

    def check_constraint(self, constraint: Any) -> None:
        values = dict(self.solution.variables)
        for name in constraint.difference.variables() - values.keys():
            # An equality of the scope may replace a variable by another expression.
            meant = from_factor(Factor(name), constraint.difference.scope)
            value = evaluate_or_none(meant, self.solution.variables)
            if value is None:
                return
            values[name] = value
        dimension = evaluate(constraint.difference, values)
        relation = "equal" if constraint.is_equality else "greater or equal"
        text = (
            f"Input shapes do not match the symbolic shape constraint {constraint.text}. Expected "
            f"'{constraint.difference}' to be {relation} to 0, but found {{0}}. "
        )
        self.check(dimension, constraint.is_equality, text, [dimension])

    def check(self, dimension: Any, is_equality: bool, text: str, values: Sequence[Any]) -> None:
        """Adds a check whose message lists the values of the solved variables."""
        all_values = list(values)
        shown = ""
        for variable, value, name, specification, size in self.found:
            places = []
            for dim in (value, size):
                if dim not in all_values:
                    all_values.append(dim)
                places.append(all_values.index(dim))
            shown += (
                f"'{variable}' = {{{places[0]}}} from specification '{specification}' for "
                f"dimension {name} (= {{{places[1]}}}), "
            )
        message = f"{text}{self.specifications} Obtained dimension variables: {shown}."
        self.solution.checks.append(Check(dimension, is_equality, message, all_values))


def evaluate_or_none(dimension: Any, values: Mapping[str, Any]) -> Any:
    """Applies `evaluate` to a dimension; returns None if the value of a variable is unknown."""
    if isinstance(dimension, SymbolicDim) and not dimension.variables() <= set(values):
        return None
    return evaluate(dimension, values)
