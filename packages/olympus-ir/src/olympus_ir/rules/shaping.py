# SPDX-License-Identifier: Apache-2.0
"""Printing rule of `broadcast_in_dim`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import lax
from ..programs.olympuspr import Equation
from ..programs.print_rules import Parameters, printing_rules

if TYPE_CHECKING:
    from ..programs.printer import Printer


@printing_rules.define(lax.broadcast_in_dim_p)
def _broadcast_in_dim(equation: Equation, printer: Printer) -> Parameters:
    # The result's type already shows shape and layout.
    params = equation.params
    shown = []
    if params["broadcast_dimensions"]:
        shown.append(("broadcast_dimensions", params["broadcast_dimensions"]))
    return shown
