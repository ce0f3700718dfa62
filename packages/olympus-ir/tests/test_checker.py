# SPDX-License-Identifier: Apache-2.0
"""The checker accepts traced programs and rejects damaged ones."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import Literal, ShapedArray, Var, lax, trace_to_olympuspr
from olympus_ir.diagnostics.errors import OlympusprTypeError
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings.config import enable_checks
from olympus_ir.types.avals import get_aval
from olympus_ir.types.effects import debug_effect

F32 = ShapedArray((), np.float32)
VECTOR = ShapedArray((3,), np.float32)


def traced(fun, *avals):
    return trace_to_olympuspr(fun, avals)[0]


def sample():
    return traced(lambda x: [lax.mul(lax.sin(x), 2.0)], F32)


def refused(program, match):
    with pytest.raises(OlympusprTypeError, match=match):
        check_olympuspr(program)


def replace_equation(program, place, **changes):
    program.eqns[place] = program.eqns[place].replace(**changes)
    return program


class TestPrograms:
    def test_valid_programs_pass(self):
        check_olympuspr(sample())
        check_olympuspr(make_olympuspr(lambda x: lax.mul(x, np.ones(3, np.float32)))(np.ones(3)))

    def test_the_message_shows_equation_line_and_program(self):
        program = sample()
        program.eqns[0].outvars[0].aval = VECTOR
        with pytest.raises(OlympusprTypeError) as error:
            check_olympuspr(program)
        message = str(error.value)
        assert "result 0 of `sin` has type float32[3], but float32[] is inferred" in message
        assert "in the equation\n\na:f32[3] = sin b" in message
        assert "test_checker.py" in message
        assert "{ lambda ; a:f32[]. let" in message

    def test_unbound_operands_are_refused(self):
        program = sample()
        refused(
            replace_equation(program, 1, invars=[Var(F32), Literal(2.0, F32)]),
            "operand 0 of `mul` is a variable without value",
        )

    def test_equations_out_of_order(self):
        program = sample()
        program.eqns.reverse()
        refused(program, "operand 0 of `mul` is a variable without value")

    def test_unbound_results_are_refused(self):
        program = sample()
        program.outvars[0] = Var(F32)
        refused(program, "result 0 is a variable without value")

    def test_variables_bound_twice(self):
        program = sample()
        refused(program.replace(invars=program.invars * 2), "input 1 is bound twice")
        refused(
            replace_equation(program, 1, outvars=program.eqns[0].outvars),
            "result 0 of `mul` is bound twice",
        )

    def test_literals_of_another_type_are_refused(self):
        program = sample()
        refused(
            replace_equation(program, 1, invars=[program.eqns[1].invars[0], Literal(2.0, VECTOR)]),
            r"literal of type float32\[\] whose stated type is float32\[3\]",
        )

    def test_constants_of_another_type_are_refused(self):
        closed = make_olympuspr(lambda x: lax.mul(x, np.ones(3, np.float32)))(np.ones(3))
        refused(ClosedOlympuspr(closed.jaxpr, [np.ones(4, np.float32)]), "constant 0 has type")

    def test_missing_effects_are_refused(self):
        program = traced(lambda x: [lax.debug_print("x") or x], F32)
        refused(program.replace(effects=frozenset()), r"does not state effects.*'Debug'")
        refused(
            replace_equation(program, 0, effects=frozenset()), r"has the effects \{Debug\}.*\{\}"
        )
        check_olympuspr(sample().replace(effects=frozenset({debug_effect})))

    def test_operands_of_wrong_type(self):
        program = sample()
        refused(
            replace_equation(
                program, 1, invars=[Literal(2, get_aval(2)), program.eqns[1].invars[0]]
            ),
            "results of `mul` cannot be inferred: TypeError: lax.mul requires",
        )

    def test_number_of_results(self):
        program = sample()
        refused(
            replace_equation(program, 0, outvars=[*program.eqns[0].outvars, Var(F32)]),
            "`sin` has 1 results, the equation binds 2",
        )

    def test_programs_in_unknown_primitives_are_checked(self):
        call_p = Primitive.declare("my_call", multiple_results=True, cache_inference=False)
        call_p.def_abstract_eval(lambda *avals, program: program.out_avals)
        inner = sample()
        outer = traced(lambda x: call_p.bind(x, program=inner), F32)
        check_olympuspr(outer)
        inner.eqns.reverse()
        refused(outer, "operand 0 of `mul` is a variable without value")


def with_params(fun, *avals, **changes):
    """The traced program with other parameters in its last equation."""
    program = traced(fun, *avals)
    params = {**program.eqns[-1].params, **changes}
    return replace_equation(program, -1, params=params)


def closed(fun, *avals):
    return ClosedOlympuspr(traced(fun, *avals), ())


class TestProgramsInParameters:
    def test_calls_of_programs_of_other_types_are_refused(self):
        def fun(x):
            return [jit(lax.sin)(x)]

        refused(
            with_params(fun, F32, jaxpr=closed(lambda x: [lax.reduce_sum(x, (0,))], VECTOR)),
            r"operands of `jaxpr`, number 0: float32\[\] given, float32\[3\] expected",
        )
        refused(
            with_params(fun, F32, jaxpr=closed(lambda x, y: [x], F32, F32)),
            "operands of `jaxpr`: 1 given, 2 expected",
        )
        refused(with_params(fun, F32, donated_invars=()), "`donated_invars` has 0 entries, not 1")

    def test_branches_of_different_types_are_refused(self):
        def fun(x):
            return [lax.cond(lax.lt(x, 0.0), lax.sin, lax.cos, x)]

        good = closed(lambda x: [lax.sin(x)], F32)
        refused(
            with_params(fun, F32, branches=(good, closed(lambda x: [lax.sin(x)], VECTOR))),
            "operands of branch 1",
        )
        refused(
            with_params(fun, F32, branches=(good, closed(lambda x: [lax.lt(x, 0.0)], F32))),
            r"results of branch 1, number 0: bool\[\] given",
        )
        program = traced(fun, F32)
        refused(
            replace_equation(
                program, -1, invars=[Literal(True, get_aval(True)), *program.eqns[-1].invars[1:]]
            ),
            r"index has type bool\[\]",
        )

    def test_conditions_that_are_not_boolean_are_refused(self):
        def fun(x):
            return [lax.while_loop(lambda c: lax.lt(c, 9.0), lambda c: lax.mul(c, x), x)]

        refused(
            with_params(fun, F32, cond_jaxpr=closed(lambda x: [x], F32)),
            r"results of `cond_jaxpr`, number 0: float32\[\] given, bool\[\] expected",
        )
        refused(with_params(fun, F32, body_nconsts=0), "operands of `cond_jaxpr`: 2 given")

    def test_scans_of_wrong_lengths_are_refused(self):
        def fun(x, xs):
            return lax.scan(lambda c, y: (lax.mul(c, y), c), x, xs)

        refused(with_params(fun, F32, VECTOR, length=2), r"result 1 of `scan`|leading dimension")
        refused(
            with_params(fun, F32, VECTOR, num_carry=0, num_consts=1), "result 0 of `scan` has type"
        )
        swapped = closed(lambda c, y: [lax.lt(c, y), c], F32, F32)
        refused(with_params(fun, F32, VECTOR, jaxpr=swapped), "result 0 of `scan` has type float32")


def test_weak_types_are_not_compared():
    program = sample()
    program.eqns[0].outvars[0].aval = F32.update(weak_type=True)
    check_olympuspr(program)


def test_named_axes_are_those_bound_now():
    program = make_olympuspr(
        lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True), axis_env=[("i", 2)]
    )(np.ones(4))
    refused(program, "unbound axis name: i")


def test_the_flag_checks_each_traced_program():
    wrong_p = Primitive.declare("wrong", cache_inference=False)
    answers = iter([F32, VECTOR])
    wrong_p.def_abstract_eval(lambda aval: next(answers))
    with (
        enable_checks(True),
        pytest.raises(OlympusprTypeError, match=r"float32\[3\] is inferred"),
    ):
        trace_to_olympuspr(lambda x: [wrong_p.bind(x)], [F32])
