# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import weakref

import numpy as np
import pytest

from olympus_ir import ShapedArray, eval_olympuspr, install_evaluator, lax, trace_to_olympuspr
from olympus_ir.programs.evaluation import bind_equation, evaluator, last_uses, olympuspr_as_fun
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import current

F32 = ShapedArray((), np.float32)


def test_programs_compute_the_function():
    constant = np.arange(3, dtype=np.float32)

    def fun(x):
        y = lax.mul(x, constant)
        return {"a": lax.add(y, 1.0), "b": (x, 2.0)}

    closed = make_olympuspr(fun)(constant)
    results = eval_olympuspr(closed.jaxpr, closed.consts, constant)
    np.testing.assert_array_equal(np.asarray(results[0]), constant**2 + 1)
    np.testing.assert_array_equal(np.asarray(results[1]), constant)
    assert results[2] == 2.0
    np.testing.assert_array_equal(
        np.asarray(olympuspr_as_fun(closed)(constant)[0]), np.asarray(results[0])
    )


def test_programs_can_be_traced_again():
    olympuspr, _ = trace_to_olympuspr(lambda x: [lax.sin(lax.cos(x))], [F32])
    again, _ = trace_to_olympuspr(lambda x: eval_olympuspr(olympuspr, (), x), [F32])
    assert str(again) == str(olympuspr)


def test_equations_keep_their_lines():
    def inner(x):
        return [lax.sin(x)]

    olympuspr, _ = trace_to_olympuspr(inner, [F32])
    again, _ = trace_to_olympuspr(lambda x: eval_olympuspr(olympuspr, (), x), [F32])
    assert again.eqns[0].source_info is olympuspr.eqns[0].source_info
    other, _ = trace_to_olympuspr(
        lambda x: eval_olympuspr(olympuspr, (), x, propagate_source_info=False), [F32]
    )
    assert other.eqns[0].source_info is not olympuspr.eqns[0].source_info
    assert current.source is None


def test_numbers_of_operands_and_constants_are_checked():
    olympuspr, _ = trace_to_olympuspr(lambda x: [lax.sin(x)], [F32])
    with pytest.raises(ValueError, match=r"shorter|longer"):
        eval_olympuspr(olympuspr, (), 1.0, 2.0)
    with pytest.raises(ValueError, match=r"shorter|longer"):
        eval_olympuspr(olympuspr, (1.0,), 1.0)


def test_values_are_dropped_after_their_last_use():
    class Value:
        """Something that can be referred to weakly."""

    alive = []
    make_p, use_p = Primitive("make"), Primitive("use")
    for primitive in (make_p, use_p):
        primitive.def_abstract_eval(lambda *avals: F32)

    def run(primitive, args, params):
        alive.append(sum(reference() is not None for reference in references))
        value = Value()
        references.append(weakref.ref(value))
        return value

    references = []
    olympuspr, _ = trace_to_olympuspr(
        lambda: [use_p.bind(use_p.bind(use_p.bind(make_p.bind())))], []
    )

    class Recording:
        process_primitive = staticmethod(run)

    previous, current.trace = current.trace, Recording()
    try:
        eval_olympuspr(olympuspr, ())
    finally:
        current.trace = previous
    # While a primitive runs, only its operands live.
    assert alive == [0, 1, 1, 1]


def test_last_uses_name_the_variables_to_free():
    olympuspr, _ = trace_to_olympuspr(lambda x, y: [lax.mul(lax.sin(x), y), y], [F32, F32])
    sin, _mul = olympuspr.eqns
    x, _y = olympuspr.invars
    assert last_uses(olympuspr) == {0: [x], 1: [sin.outvars[0]]}


def test_equations_are_bound_with_their_parameters():
    olympuspr, _ = trace_to_olympuspr(lambda x: lax.split(x, [1, 2]), [ShapedArray((3,), np.int32)])
    assert len(bind_equation(olympuspr.eqns[0], [np.arange(3, dtype=np.int32)])) == 2
    olympuspr, _ = trace_to_olympuspr(lambda x: [lax.neg(x)], [F32])
    assert bind_equation(olympuspr.eqns[0], [2.0]) == [-2.0]


def test_user_defined_bind_equation():
    calls = []
    special_p = Primitive.declare("special", multiple_results=True)
    special_p.def_abstract_eval(lambda x, *, n: [x])
    olympuspr, _ = trace_to_olympuspr(lambda x: special_p.bind(x, n=2), [F32])
    special_p.bind_equation = lambda operands, params: calls.append(params) or operands
    assert eval_olympuspr(olympuspr, (), 3.0) == [3.0]
    assert calls == [{"n": 2}]


def test_the_evaluator_is_chosen_once():
    chosen = evaluator()
    assert evaluator() is chosen
    install_evaluator(chosen)
    assert evaluator() is chosen


def test_attributes_of_closed_programs():
    closed = ClosedOlympuspr(*trace_to_olympuspr(lambda x: [lax.sin(x), x], [F32]))
    assert closed.olympuspr is closed.jaxpr
    assert closed.in_avals == [F32]
    assert closed.out_avals == [F32, F32]
    assert closed.eqns is closed.jaxpr.eqns
    assert str(closed) == str(closed.jaxpr)
    assert closed.map_jaxpr(lambda olympuspr: olympuspr.replace(outvars=[])).out_avals == []
