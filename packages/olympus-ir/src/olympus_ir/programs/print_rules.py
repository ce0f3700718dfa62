# SPDX-License-Identifier: Apache-2.0
"""Table of printing rules, for equations whose text omits some parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .rules import RuleTable

if TYPE_CHECKING:
    from .olympuspr import Equation
    from .printer import Printer

Parameters = list[tuple[str, Any]]

# Rules that format equations: `rule(equation, printer)` returns the shown parameters, as pairs of
# name and value, or a document for the whole equation. Without a rule, equations show all
# parameters, sorted by name.
printing_rules: RuleTable[Callable[..., Any]] = RuleTable(
    "printing", package="olympus_ir", folder="rules"
)


def hide(**defaults: Any) -> Callable[[Equation, Printer], Parameters]:
    """Returns a rule that hides parameters with the given default values.

    Example:
      >>> from olympus_ir import Primitive
      >>> root_p = Primitive("root")
      >>> printing_rules.define(root_p, hide(degree=2))
    """

    def rule(equation: Equation, printer: Printer) -> Parameters:
        return [
            (name, value)
            for name, value in sorted(equation.params.items())
            if name not in defaults or value != defaults[name]
        ]

    return rule
