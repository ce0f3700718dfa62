# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import ShapedArray, eval_olympuspr, lax, trace_to_olympuspr
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.tracing import current

F32 = ShapedArray((), np.float32)


@pytest.fixture
def program():
    return ClosedOlympuspr(*trace_to_olympuspr(lambda x: [lax.mul(x, x), 1.0], [F32]))


def evaluated(fun, *args):
    closed = make_olympuspr(fun)(*args)
    check_olympuspr(closed)
    return eval_olympuspr(closed.jaxpr, closed.consts, *args)


def test_closed_calls_compute_their_program(program):
    assert evaluated(lambda x: lax.closed_call_p.bind(x, call_jaxpr=program), 3.0) == [9.0, 1.0]


def test_checkpointed_calls_compute_their_program(program):
    def fun(x):
        return lax.checkpoint_p.bind(
            x, jaxpr=program.jaxpr, prevent_cse=True, differentiated=False, policy=None
        )

    assert evaluated(fun, 3.0) == [9.0, 1.0]
    assert str(make_olympuspr(fun)(3.0)) == (
        "{ lambda ; a:f32[]. let\n"
        "    b:f32[] c:f32[] = remat2[\n"
        "      differentiated=False\n"
        "      jaxpr={ lambda ; d:f32[]. let e:f32[] = mul d d in (e, 1.0:f32[]) }\n"
        "      policy=None\n"
        "      prevent_cse=True\n"
        "    ] a\n"
        "  in (b, c) }"
    )


def test_barriers_return_their_operands():
    x = np.arange(3, dtype=np.float32)
    result = lax.optimization_barrier({"a": x, "b": (1.0,)})
    np.testing.assert_array_equal(np.asarray(result["a"]), x)
    assert result["b"][0] == 1.0


class TestCustomCalls:
    def call(self, x):
        def rule(primal, tangent):
            return [lax.sin(primal)], [tangent]

        return current.trace.process_custom_jvp_call(
            lax.custom_jvp_call_p, lambda y: [lax.sin(y)], rule, (x,), symbolic_zeros=False
        )

    def test_the_equation_holds_program_and_rule(self):
        closed = make_olympuspr(self.call)(1.0)
        (equation,) = closed.eqns
        assert equation.primitive is lax.custom_jvp_call_p
        assert str(equation.params["call_jaxpr"]) == (
            "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"
        )
        assert "jvp=rule" in str(closed)
        check_olympuspr(closed)

    def test_the_equation_can_be_traced_again(self):
        closed = make_olympuspr(self.call)(1.0)
        again = make_olympuspr(lambda x: eval_olympuspr(closed.jaxpr, closed.consts, x))(1.0)
        (equation,) = again.eqns
        assert equation.primitive is lax.custom_jvp_call_p
        assert equation.params["jvp_jaxpr_fun"] is closed.eqns[0].params["jvp_jaxpr_fun"]

    def test_calls_with_concrete_values_run_the_function(self):
        assert self.call(0.0) == [0.0]
        assert evaluated(self.call, 0.0) == [0.0]
