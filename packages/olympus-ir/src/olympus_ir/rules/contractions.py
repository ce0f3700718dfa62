# SPDX-License-Identifier: Apache-2.0
"""Printing rule of `dot_general`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .. import lax
from ..programs.olympuspr import Equation
from ..programs.print_rules import Parameters, printing_rules

if TYPE_CHECKING:
    from ..programs.printer import Printer


@printing_rules.define(lax.dot_general_p)
def _dot_general(equation: Equation, printer: Printer) -> Parameters:
    contracting, batch = equation.params["dimension_numbers"]
    shown = [
        (name, value)
        for name, value in sorted(equation.params.items())
        if value is not None and name not in ("dimension_numbers", "out_sharding")
    ]
    dimensions = (tuple(map(list, contracting)), tuple(map(list, batch)))
    return [("dimension_numbers", dimensions), *shown]
