# SPDX-License-Identifier: Apache-2.0
"""The table of the operations that propagate elements that are not finite.

A rule ``(equation, bounds_checked) -> entries`` returns an entry for each operand: None, or a
`Carried` with the results to which each erroneous element of the operand propagates. A primitive
without a rule propagates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from olympus_ir.programs.olympuspr import Atom, Equation
from olympus_ir.programs.rules import RuleTable

__all__ = ["Carried", "CarryingRule", "Case", "Part", "carrying_rules"]


class Case(NamedTuple):
    """The elements of a value that a selection uses.

    Attributes:
      which: the variable that selects a case for each element.
      number: the index of the case whose elements come from the value.
      cases: the number of cases.
    """

    which: Atom
    number: int
    cases: int


#: A part of a value: a range of each dimension, or the elements that a selection uses.
Part: TypeAlias = tuple[slice, ...] | Case


class Carried(NamedTuple):
    """Propagation of the erroneous elements of an operand through an operation.

    Attributes:
      results: the positions of results. For each erroneous element of the operand, at least one of
        these results has an erroneous element.
      infinities: whether infinities propagate. NaNs always propagate.
      part: the part of the operand whose elements propagate; None for all elements.
    """

    results: tuple[int, ...] = (0,)
    infinities: bool = True
    part: Part | None = None


CarryingRule: TypeAlias = Callable[[Equation, bool], Sequence[Carried | None]]

carrying_rules: RuleTable[CarryingRule] = RuleTable(
    "carrying", package="olympus_checkify", folder=None
)
