# SPDX-License-Identifier: Apache-2.0
"""Split of the operands of loops by role, and its inverse."""

from __future__ import annotations

import numpy as np

from olympus_ir import ShapedArray, lax, trace_to_olympuspr
from olympus_ir.lax.control_flow.operands import (
    ScanLayout,
    ScanOperands,
    WhileLayout,
    WhileOperands,
)


def _equation(fun, *shapes):
    avals = [ShapedArray(shape, np.dtype(np.float32)) for shape in shapes]
    return trace_to_olympuspr(fun, avals)[0].eqns[-1]


def test_scan_operand_types():
    def fun(const, init, xs):
        return lax.scan(lambda c, x: (lax.add(c, const), lax.mul(x, c)), init, xs)

    equation = _equation(fun, (), (), (3,))
    layout = ScanLayout.of(equation.params)
    operands = layout.operands(equation.invars)
    body = layout.operands(equation.params["jaxpr"].in_avals)
    assert [len(part) for part in operands] == [1, 1, 1]
    assert [atom.aval for atom in (*operands.consts, *operands.carry)] == [
        *body.consts,
        *body.carry,
    ]
    assert operands.flat == equation.invars
    assert operands.layout == layout
    assert layout.params.items() <= equation.params.items()
    carry, ys = layout.results(equation.outvars)
    assert [var.aval.shape for var in carry] == [()] and [var.aval.shape for var in ys] == [(3,)]


def test_while_operands_match_inputs_of_cond_and_body():
    def fun(limit, step, start):
        return [lax.while_loop(lambda c: lax.lt(c, limit), lambda c: lax.add(c, step), start)]

    equation = _equation(fun, (), (), ())
    layout = WhileLayout.of(equation.params)
    operands = layout.operands(equation.invars)
    assert len(operands.of_cond) == len(equation.params["cond_jaxpr"].in_avals)
    assert len(operands.of_body) == len(equation.params["body_jaxpr"].in_avals)
    assert operands.flat == equation.invars
    assert operands.layout == layout
    assert layout.params.items() <= equation.params.items()


def test_layouts_follow_from_operand_counts():
    scan = ScanOperands("ab", ["c"], ())
    assert (scan.flat, scan.layout) == (["a", "b", "c"], ScanLayout(2, 1))
    loop = WhileOperands([], "ab", "c")
    assert (loop.of_cond, loop.of_body) == (["c"], ["a", "b", "c"])
    assert loop.layout.params == {"cond_nconsts": 0, "body_nconsts": 2}
