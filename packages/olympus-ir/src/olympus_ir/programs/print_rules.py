# SPDX-License-Identifier: Apache-2.0
"""Table of printing rules, for primitives whose equations do not show all parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .rules import RuleTable

if TYPE_CHECKING:
    from .olympuspr import Equation
    from .printer import Printer

Parameters = list[tuple[str, Any]]

# How equations are printed: `rule(equation, printer)` returns the parameters that are shown, as
# pairs of name and value, or a document for the whole equation. Equations of primitives without a
# rule show all parameters in order of their names.
printing_rules: RuleTable[Callable[..., Any]] = RuleTable(
    "printing", package="olympus_ir", folder="rules"
)


def hide(**defaults: Any) -> Callable[[Equation, Printer], Parameters]:
    """Returns a rule that leaves out parameters with these values.

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
