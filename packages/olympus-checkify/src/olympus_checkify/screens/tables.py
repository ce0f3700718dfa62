# SPDX-License-Identifier: Apache-2.0
"""The table of the operations that propagate elements that are not finite.

A rule ``(equation, bounds_checked) -> entries`` returns an entry for each operand: None, or a
`Carried` with the results to which each bad element of the operand propagates. A primitive without
a rule propagates nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.rules import RuleTable

__all__ = ["Carried", "CarryingRule", "carrying_rules"]


class Carried(NamedTuple):
    """Propagation of the bad elements of an operand through an operation.

    Attributes:
      results: the positions of results. For each bad element of the operand, at least one of these
        results has a bad element.
      infinities: whether infinities propagate. NaNs always propagate.
    """

    results: tuple[int, ...] = (0,)
    infinities: bool = True


CarryingRule: TypeAlias = Callable[[Equation, bool], Sequence[Carried | None]]

carrying_rules: RuleTable[CarryingRule] = RuleTable(
    "carrying", package="olympus_checkify", folder=None
)
