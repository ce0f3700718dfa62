# SPDX-License-Identifier: Apache-2.0
"""The table of checkify's rules, which check primitives and propagate errors through calls.

A rule ``(equation, enabled, error, operands) -> (error, results)`` applies the equation to the
operands. It returns the given error, combined with the errors that the equation's checks find, and
the results of the equation. An instruction without a rule cannot fail; see `plain`. Primitives
outside of the instruction set are checked for NaN unless they have a rule or are exempt.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.rules import RuleTable

from .errors import Error, ErrorCategory

__all__ = ["Enabled", "ErrorRule", "Outcome", "error_rules", "plain"]

#: The kinds of errors to look for.
Enabled: TypeAlias = frozenset[ErrorCategory]
#: The error that has occurred so far, and the results of an equation.
Outcome: TypeAlias = tuple[Error, Sequence[Any]]
ErrorRule: TypeAlias = Callable[[Equation, Enabled, Error, Sequence[Any]], Outcome]

error_rules: RuleTable[ErrorRule] = RuleTable("checkify", package="olympus_checkify")


def plain(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    """Applies an equation that cannot fail."""
    return error, bind_equation(equation, operands)
