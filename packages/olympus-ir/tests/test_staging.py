# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import gc
import weakref

import numpy as np
import pytest

from olympus_ir import Literal, ShapedArray, lax, trace_to_olympuspr
from olympus_ir.diagnostics.errors import LeakedTracerError, UnexpectedTracerError
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr, constants_as_inputs, inputs_as_constants
from olympus_ir.programs.staging import separate_constants, trace_to_closed
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.settings.config import checking_leaks

F32 = ShapedArray((), np.float32)
VECTOR = ShapedArray((3,), np.float32)


def trace(fun, *avals):
    olympuspr, constants = trace_to_olympuspr(fun, avals)
    check_olympuspr(ClosedOlympuspr(olympuspr, constants))
    return olympuspr, constants


class TestRecording:
    def test_operations_become_equations(self):
        olympuspr, constants = trace(lambda x, y: [lax.mul(x, lax.sin(y))], F32, F32)
        assert str(olympuspr) == (
            "{ lambda ; a:f32[] b:f32[]. let c:f32[] = sin b; d:f32[] = mul a c in (d,) }"
        )
        assert constants == []
        assert olympuspr.in_avals == [F32, F32]
        assert olympuspr.out_avals == [F32]

    def test_scalars_are_literals(self):
        values = [2.0, 3, True, np.float32(1.5), np.array(2, np.int8)]
        olympuspr, constants = trace(lambda: values)
        assert [atom.val for atom in olympuspr.outvars] == values
        assert all(isinstance(atom, Literal) for atom in olympuspr.outvars)
        assert constants == []

    def test_arrays_are_constants_and_occur_once(self):
        array = np.ones(3, np.float32)
        olympuspr, constants = trace(lambda x: [lax.add(lax.mul(x, array), array)], VECTOR)
        assert len(constants) == 1
        assert constants[0] is array
        assert olympuspr.constvars[0].aval is VECTOR

    def test_inputs_may_be_results(self):
        olympuspr, _ = trace(lambda x, y: [y, x, y], F32, VECTOR)
        assert olympuspr.eqns == []
        assert olympuspr.outvars == [*reversed(olympuspr.invars), olympuspr.invars[1]]

    def test_the_array_protocol_is_recorded(self):
        class Wrapped:
            def __init__(self, value):
                self.value = value

            def __olympus_array__(self):
                return self.value

        olympuspr, _ = trace(lambda x: [lax.sin_p.bind(Wrapped(x), accuracy=None)], F32)
        assert str(olympuspr) == "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"

    def test_a_bad_operand_is_named(self):
        with pytest.raises(TypeError, match=r"argument to sin.*<class 'str'>.*position 0"):
            trace(lambda: [lax.sin_p.bind("text", accuracy=None)])

    def test_a_bad_result_is_named(self):
        def bad(x):
            return {"a": x, "b": [1, "text"]}

        with pytest.raises(
            TypeError,
            match=r"function bad at .*test_staging.py:\d+ traced for jit returned a "
            r"value of type <class 'str'> at output component \['b'\]\[1\]",
        ):
            make_olympuspr(bad)(1.0)

    def test_current_trace_is_restored_after_error(self):
        with pytest.raises(ZeroDivisionError):
            trace(lambda: 1 / 0)
        assert current.trace is evaluation_trace
        assert current.source is None

    def test_source_lines_are_recorded(self):
        olympuspr, _ = trace(lambda x: [lax.sin(x)], F32)
        assert "test_staging.py" in olympuspr.pretty_print(source_info=True)


class TestClosures:
    def test_outer_tracers_are_constants_of_inner_programs(self):
        seen = []

        def outer(x):
            inner, constants = trace_to_olympuspr(lambda y: [lax.mul(x, y)], [F32])
            seen.append((inner, constants, x))
            return [x]

        trace(outer, F32)
        ((inner, constants, x),) = seen
        assert constants == [x]
        assert len(inner.constvars) == 1

    def test_constants_are_separated_from_inner_programs(self):
        array = np.ones(3, np.float32)
        seen = []

        def outer(x):
            closed = trace_to_closed(lambda y: [lax.mul(lax.mul(y, array), x)], [VECTOR])
            seen.append(separate_constants(closed))
            return [x]

        trace(outer, VECTOR)
        ((operands, closed),) = seen
        assert len(operands) == 1
        assert closed.consts == [array]
        assert str(closed) == (
            "{ lambda a:f32[3]; b:f32[3] c:f32[3]. let\n"
            "    d:f32[3] = mul c a\n    e:f32[3] = mul d b\n  in (e,) }"
        )

    def test_programs_without_outer_tracers_are_unchanged(self):
        closed = trace_to_closed(lambda x: [lax.mul(x, np.ones(3, np.float32))], [VECTOR])
        assert separate_constants(closed) == ([], closed)

    def test_constants_and_inputs_can_be_exchanged(self):
        olympuspr, _ = trace(lambda x: [lax.mul(x, np.ones(3, np.float32))], VECTOR)
        opened = constants_as_inputs(olympuspr)
        assert opened.constvars == []
        assert len(opened.invars) == 2
        assert str(inputs_as_constants(opened, 1)) == str(olympuspr)

    def test_closed_programs_need_value_for_each_constant(self):
        olympuspr, _ = trace(lambda x: [lax.mul(x, np.ones(3, np.float32))], VECTOR)
        with pytest.raises(ValueError, match="has 1 constants, got 0 values"):
            ClosedOlympuspr(olympuspr, [])


class TestLeaks:
    def test_a_leaked_tracer_names_function_and_line(self):
        leaked = []

        def leaking(x):
            leaked.append(lax.sin(x))
            return x

        make_olympuspr(leaking)(1.0)
        with pytest.raises(UnexpectedTracerError) as error:
            make_olympuspr(lambda x: lax.add(x, leaked[0]))(1.0)
        message = str(error.value)
        assert "type float32[]" in message
        assert "leaking at " in message
        assert "was created on line" in message and "by `sin`" in message
        assert "test_staging.py" in message

    def test_a_leaked_tracer_cannot_be_evaluated(self):
        leaked = []
        make_olympuspr(lambda x: leaked.append(x) or x)(1.0)
        with pytest.raises(UnexpectedTracerError):
            lax.sin(leaked[0])

    def test_leaks_from_inner_programs(self):
        leaked = []

        def fun(x):
            lax.scan(lambda c, _: (leaked.append(c) or lax.sin(c), None), x, None, length=2)
            return lax.add(x, leaked[0])

        with pytest.raises(UnexpectedTracerError, match="traced for scan"):
            make_olympuspr(fun)(1.0)

    def test_leaked_tracers_raise_under_checking_leaks(self):
        kept = []
        with checking_leaks():
            make_olympuspr(lambda x: jit(lambda y: lax.mul(lax.sin(y), x))(x))(1.0)
            with pytest.raises(LeakedTracerError, match="(?s)created on line.*by `cos`"):
                make_olympuspr(lambda x: kept.append(lax.cos(x)) or x)(1.0)

    def test_programs_do_not_keep_functions_alive(self):
        def fun(x):
            return lax.sin(x)

        reference = weakref.ref(fun)
        closed = make_olympuspr(fun)(1.0)
        jitted = jit(fun)
        jitted(1.0)
        del fun, jitted
        gc.collect()
        assert reference() is None
        assert "fun at " in closed.debug_info.func_src_info
        assert closed.debug_info.arg_names == ("x",)
