# SPDX-License-Identifier: Apache-2.0
"""The table of what operations do with values that are not finite.

A rule ``(equation, bounds_checked) -> entries`` has an entry for each operand: None, or a `Carried`
that names the results where each bad element of the operand shows. A primitive without a rule
carries nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.rules import RuleTable

__all__ = ["Carried", "CarryingRule", "carrying_rules"]


class Carried(NamedTuple):
    """The way of bad elements of an operand through an operation.

    Attributes:
      results: the places of the results that have a bad element for each bad element of the
        operand, taken together.
      infinities: whether this holds for infinities. It holds for NaNs always.
    """

    results: tuple[int, ...] = (0,)
    infinities: bool = True


CarryingRule: TypeAlias = Callable[[Equation, bool], Sequence[Carried | None]]

carrying_rules: RuleTable[CarryingRule] = RuleTable(
    "carrying", package="olympus_checkify", folder=None
)
