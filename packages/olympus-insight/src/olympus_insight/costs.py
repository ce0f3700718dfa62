# SPDX-License-Identifier: Apache-2.0
"""Costs of equations: arithmetic operations and bytes, by the rules of the roofline model."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

from olympus_ir.programs.olympuspr import Equation, Olympuspr, olympusprs_in_params
from olympus_sharding.roofline.results import (
    RooflineRuleContext,
    RooflineShape,
    roofline_rules,
)

__all__ = ["Cost", "Costs", "count_text"]


class Cost(NamedTuple):
    """The cost of an equation or a program.

    Attributes:
      flops: the number of arithmetic operations.
      bytes: the number of bytes of the operands and results.
    """

    flops: int
    bytes: int

    def times(self, count: int) -> Cost:
        return Cost(self.flops * count, self.bytes * count)

    def plus(self, other: Cost) -> Cost:
        return Cost(self.flops + other.flops, self.bytes + other.bytes)


_FREE = Cost(0, 0)


class Costs:
    """Costs of programs; each program is estimated once.

    The estimate is a heuristic: operations without a rule cost one operation for each element of
    their results. The body of a ``while`` loop counts once. The cost of a conditional is
    the cost of its most expensive branch.
    """

    def __init__(self) -> None:
        self._programs: dict[int, Cost] = {}

    def of_program(self, program: Olympuspr) -> Cost:
        known = self._programs.get(id(program))
        if known is None:
            known = _FREE
            for equation in program.eqns:
                known = known.plus(self.of_equation(equation))
            self._programs[id(program)] = known
        return known

    def of_equation(self, equation: Equation) -> Cost:
        inner = [self.of_program(program) for program in olympusprs_in_params(equation.params)]
        name = equation.primitive.name
        if inner and name == "cond":
            return max(inner)
        if inner and name == "scan":
            return inner[0].times(equation.params["length"])
        if inner and name in ("custom_jvp_call", "custom_vjp_call"):
            return inner[0]
        if inner:
            total = _FREE
            for cost in inner:
                total = total.plus(cost)
            return total
        return _own_cost(equation)


def _own_cost(equation: Equation) -> Cost:
    avals_in = [atom.aval for atom in equation.invars]
    avals_out = [var.aval for var in equation.outvars]
    moved = sum(map(_bytes_of, (*avals_in, *avals_out)))
    elements = sum(_elements_of(aval) for aval in avals_out)
    rule = roofline_rules.find(equation.primitive)
    if rule is None:
        return Cost(elements, moved)
    context = RooflineRuleContext(
        name_stack=getattr(equation.source_info, "name_stack", None),
        primitive=equation.primitive,
        avals_in=avals_in,
        avals_out=avals_out,
        jaxpr_eqn_ctx=equation.ctx,
        mesh=None,
        pin_lhs_in_vmem=False,
        pin_rhs_in_vmem=False,
    )
    try:
        shapes = [RooflineShape.from_aval(aval) for aval in avals_in]
        return Cost(rule(context, *shapes, **equation.params).unfused_flops, moved)
    except Exception:  # the rules handle arrays of numbers only
        return Cost(elements, moved)


def _elements_of(aval: Any) -> int:
    shape = getattr(aval, "shape", ())
    return math.prod(shape) if all(isinstance(size, int) for size in shape) else 1


def _bytes_of(aval: Any) -> int:
    return _elements_of(aval) * getattr(getattr(aval, "dtype", None), "itemsize", 0)


def count_text(count: float, unit: str = "flop") -> str:
    """Returns a number with a metric prefix.

    Example:
      >>> count_text(1234567), count_text(12), count_text(2.5e9, "B/s")
      ('1.2 Mflop', '12 flop', '2.5 GB/s')
    """
    for prefix in ("", "k", "M", "G", "T"):
        if abs(count) < 1000 or prefix == "T":
            return f"{count:.0f} {unit}" if not prefix else f"{count:.1f} {prefix}{unit}"
        count /= 1000
    raise AssertionError("the last prefix has no bound")
