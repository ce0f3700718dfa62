# SPDX-License-Identifier: Apache-2.0
"""Steps of a screen: operations, and how erroneous elements propagate through each of them.

A screen is a program that detects a failed operation. Erroneous elements are NaNs and unexpected
infinities; see `Fact`.
"""

from __future__ import annotations

import enum
import functools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.olympuspr import Equation, Literal
from olympus_ir.programs.rules import RuleTable
from olympus_ir.types import dtypes

from ..errors import NonFiniteError, OOBError
from ..rules.checked_results import any_of, with_nan_check, with_value_check
from ..rules.indexing import may_leave_bounds, out_of_bounds
from ..tables import Enabled, error_rules
from . import carrying  # noqa: F401 - fills the table
from .bounds import Interval, bounds_of_result, finite_part, is_finite
from .facts import Fact, bad_elements, is_inexact, is_real
from .tables import Carried, Part, carrying_rules

__all__ = ["Operation", "Step", "Way", "step_rules", "union"]


class Way(enum.Enum):
    """Propagation of the erroneous elements of an operand to the results of a step."""

    #: Erroneous elements do not propagate.
    NONE = 0
    #: The operation itself propagates erroneous elements.
    ITSELF = 1
    #: Erroneous elements propagate only if the step guards the operand.
    GUARDED = 2


class Step(ABC):
    """One equation of a screened program.

    Attributes:
      equation: the equation.
      facts: the facts of the results.
      makes: whether results may have erroneous elements even if no operand has any. Such results
        are checked if their erroneous elements do not propagate to a checked value.
      guarded: the positions of the operands whose erroneous elements the step puts into its result.
      checked: the positions of the results that the step checks.
    """

    makes = False

    def __init__(self, equation: Equation) -> None:
        self.equation = equation
        self.facts: Sequence[Fact] = ()
        self.guarded: list[int] = []
        self.checked: list[int] = []

    @abstractmethod
    def ways(self, shown: Sequence[bool]) -> Sequence[Way]:
        """Returns for each operand how its erroneous elements propagate to detected results.

        Args:
          shown: for each result, whether the later steps detect its erroneous elements.
        """

    def part(self, operand: int) -> Part | None:
        """Returns the part of an operand whose erroneous elements propagate; None for the whole."""
        return None

    @property
    def is_elementwise(self) -> bool:
        """Returns whether each element of the result depends on at most one of each operand."""
        return False

    @abstractmethod
    def run(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Applies the equation.

        Returns:
          The flags of failures inside the step, and the results.
        """

    @property
    def runs_with_flags(self) -> bool:
        """Returns whether `run` returns flags."""
        return False


StepRule: TypeAlias = Callable[[Equation, Sequence[Fact], Enabled], Step]

#: The steps of equations with subprograms. Other equations are instances of `Operation`.
step_rules: RuleTable[StepRule] = RuleTable("step", package="olympus_checkify", folder=None)


_MAKE_VALUES = frozenset({lax.div_p, lax.scatter_add_p, lax.scatter_mul_p})
# If an operand of these operations is infinite, the result is usually infinite. Results of other
# operations that can make erroneous elements are seldom infinite.
_KEEP_INFINITIES = frozenset({lax.add_p, lax.sub_p, lax.mul_p})


class Operation(Step):
    """An equation without programs in its parameters."""

    def __init__(self, equation: Equation, operands: Sequence[Fact], enabled: Enabled) -> None:
        super().__init__(equation)
        primitive = equation.primitive
        self.operands = operands
        self.in_bounds = OOBError in enabled
        rule = error_rules.find(primitive) if NonFiniteError in enabled else None
        makes = rule in (with_nan_check, with_value_check)
        makes = makes or (rule is not None and primitive in _MAKE_VALUES)
        bounds = bounds_of_result(equation, self._finite_bounds())
        self.makes = makes and not self._is_finite(bounds)
        self.divides = rule is not None and primitive in (lax.div_p, lax.rem_p)
        doubtful = self.makes or any(fact.doubtful for fact in operands)
        infinite = any(fact.infinite for fact in operands)
        overflows = any(fact.overflows for fact in operands)
        if infinite or overflows:
            unbounded = [Interval() if fact.overflows else fact.bounds for fact in operands]
            is_finite = self._is_finite(bounds_of_result(equation, unbounded))
            infinite, overflows = infinite and not is_finite, overflows and not is_finite
        if self.makes:
            infinite = infinite and primitive in _KEEP_INFINITIES
        fact = Fact(doubtful, infinite, overflows or self.makes, Interval() if infinite else bounds)
        self.facts = [fact if is_inexact(var.aval) else Fact() for var in equation.outvars]

    def _finite_bounds(self) -> list[Interval]:
        return [
            finite_part(fact.bounds, atom.aval.dtype) if is_real(atom.aval) else fact.bounds
            for fact, atom in zip(self.operands, self.equation.invars, strict=True)
        ]

    def _is_finite(self, bounds: Interval) -> bool:
        aval = self.equation.outvars[0].aval
        return is_real(aval) and is_finite(bounds, aval.dtype)

    @functools.cached_property
    def _entries(self) -> Sequence[Carried | None]:
        rule = carrying_rules.find(self.equation.primitive)
        return [None] * len(self.operands) if rule is None else rule(self.equation, self.in_bounds)

    def ways(self, shown: Sequence[bool]) -> Sequence[Way]:
        entries = enumerate(self._entries)
        return [self._way(position, entry, shown) for position, entry in entries]

    @property
    def is_elementwise(self) -> bool:
        return self.equation.primitive.family in ("elementwise", "special")

    def part(self, operand: int) -> Part | None:
        entry = self._entries[operand]
        return None if entry is None else entry.part

    def _way(self, position: int, entry: Carried | None, shown: Sequence[bool]) -> Way:
        if entry is not None and all(shown[out] for out in entry.results):
            fact, results = self.operands[position], [self.facts[out] for out in entry.results]
            itself = all(_shows(fact, out, entry.infinities) for out in results)
            return Way.ITSELF if itself else Way.GUARDED
        aval = self.equation.invars[position].aval
        single = len(self.facts) == 1 and shown[0]
        if single and is_inexact(aval) and aval.shape == self.equation.outvars[0].aval.shape:
            return Way.GUARDED
        return Way.NONE

    @property
    def runs_with_flags(self) -> bool:
        return self._may_leave_bounds() or self._may_divide_by_zero()

    def _may_leave_bounds(self) -> bool:
        return self.in_bounds and may_leave_bounds(self.equation)

    def _may_divide_by_zero(self) -> bool:
        if not self.divides:
            return False
        divisor = self.equation.invars[1]
        if not dtypes.issubdtype(divisor.aval.dtype, np.integer):
            return False
        return not (isinstance(divisor, Literal) and np.all(np.asarray(divisor.val)))

    def run(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        flags = []
        if self._may_leave_bounds():
            flags.append(out_of_bounds(self.equation, operands))
        if self._may_divide_by_zero():
            flags.append(any_of(lax.eq(operands[1], lax.full_like(operands[1], 0))))
        operands, hidden = self._guard(operands)
        results = list(bind_equation(self.equation, operands))
        if self.makes and self.facts[0].infinite:
            hidden.append(self._made(operands, results[0]))
        if hidden:
            results[0] = _with_nans(results[0], union(hidden))
        return flags, results

    def _guard(self, operands: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Puts erroneous elements into the result that the operation itself does not propagate.

        Returns:
          The operands, with NaNs in place of some erroneous elements, and masks of the others.

        If the operation propagates NaNs, the NaNs are put into its operand. The NaNs are not put
        into the result, because a compiler may then compute the result again for each use. If the
        operation does not propagate NaNs, a mask of the erroneous elements is returned.
        """
        operands, hidden = list(operands), []
        entries = self._entries if self.guarded else ()
        for position in self.guarded:
            bad = bad_elements(operands[position], self.operands[position])
            entry = entries[position]
            if entry is None or entry.part is not None:
                hidden.append(bad)
            else:
                operands[position] = _with_nans(operands[position], bad)
        return operands, hidden

    def _made(self, operands: Sequence[Any], result: Any) -> Any:
        """Returns a mask of the elements that are not finite where all operands are finite."""
        made = bad_elements(result, Fact())
        for operand in operands:
            made = lax.bitwise_and(made, lax.bitwise_not(bad_elements(operand, Fact())))
        return made


def _shows(operand: Fact, result: Fact, infinities: bool) -> bool:
    """Returns whether each erroneous element of an operand makes one in the result.

    Args:
      operand: the fact about the operand.
      result: the fact about the result. The operation propagates NaNs of the operand to the result.
      infinities: whether the operation also propagates infinities.
    """
    return operand.has_only_nans or (infinities and not result.infinite)


def _with_nans(value: Any, where: Any) -> Any:
    return lax.select_n(where, value, lax.full_like(value, np.nan))


def union(flags: Sequence[Any]) -> Any:
    """Returns whether one of several flags is set; for arrays, element by element."""
    return functools.reduce(lax.bitwise_or, flags)
