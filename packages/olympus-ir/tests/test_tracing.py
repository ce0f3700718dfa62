# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

from olympus_ir import Array, ShapedArray, Trace, Tracer, lax, trace_to_olympuspr, typeof
from olympus_ir.adapters.name_scopes import extend_name_stack
from olympus_ir.diagnostics.errors import (
    ConcretizationTypeError,
    TracerArrayConversionError,
    TracerBoolConversionError,
    TracerIntegerConversionError,
)
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.staging import StagingTrace
from olympus_ir.programs.tracing import (
    AxisEnvironment,
    concrete_or_error,
    current,
    ensure_compile_time_eval,
    evaluation_trace,
    extend_axes,
    set_current_trace,
)

VECTOR = ShapedArray((3,), np.float32)


def in_trace(action, aval=VECTOR):
    """Returns the result of a function of a tracer."""
    results = []

    def fun(x):
        results.append(action(x))
        return x

    make_olympuspr(fun)(np.zeros(aval.shape, aval.dtype))
    return results[0]


class TestTracers:
    def test_attributes_given_by_the_type(self):
        def known(x):
            assert isinstance(x, Array)
            return x.shape, x.dtype, x.ndim, x.size, len(x), x.nbytes, x.itemsize, x.weak_type

        assert in_trace(known) == ((3,), np.float32, 1, 3, 3, 12, 4, False)

    def test_texts_of_tracers_show_their_types(self):
        assert in_trace(repr) == "JitTracer(float32[3])"
        assert in_trace(lambda x: f"{x}") == "JitTracer(float32[3])"
        assert in_trace(lambda x: repr(lax.add(1.0, 2.0))) == "JitTracer(~float32[])"

    def test_copies_are_the_tracer_itself(self):
        assert in_trace(lambda x: copy.copy(x) is x and copy.deepcopy([x])[0] is x)

    def test_are_not_hashable(self):
        with pytest.raises(TypeError, match="unhashable"):
            in_trace(hash)

    def test_are_immutable(self):
        def assign(x):
            x[0] = 1.0

        with pytest.raises(TypeError, match=r"immutable.*\.at\[idx\]\.set"):
            in_trace(assign)

    def test_scalars_and_traced_sizes_have_no_length(self):
        scalar = ShapedArray((), np.float32)
        with pytest.raises(TypeError, match="unsized"):
            in_trace(len, scalar)
        with pytest.raises(TypeError, match="iteration over a 0-d array"):
            in_trace(list, scalar)


SCALAR = ShapedArray((), np.float32)


class TestValuesAreNotKnown:
    @pytest.mark.parametrize(
        ("action", "error"),
        [
            (bool, TracerBoolConversionError),
            (int, ConcretizationTypeError),
            (float, ConcretizationTypeError),
            (complex, ConcretizationTypeError),
            (lambda x: [1, 2][x], TracerIntegerConversionError),
            (range, TracerIntegerConversionError),
            (np.asarray, TracerArrayConversionError),
            (np.sin, TracerArrayConversionError),
            (lambda x: x.item(), ConcretizationTypeError),
            (lambda x: x.tolist(), ConcretizationTypeError),
            (lambda x: x.tobytes(), ConcretizationTypeError),
            (pickle.dumps, ConcretizationTypeError),
        ],
    )
    def test_errors_name_function_and_argument(self, action, error):
        def my_function(a, b):
            return action(b["weight"])

        kind = np.int32 if error is TracerIntegerConversionError else np.float32
        with pytest.raises(error) as caught:
            make_olympuspr(my_function)(1.0, {"weight": kind(2)})
        message = str(caught.value)
        assert "my_function at " in message
        assert "test_tracing.py" in message
        assert "depends on the value of the argument b['weight']." in message

    @pytest.mark.parametrize("action", [int, float, complex])
    def test_only_scalars_are_numbers(self, action):
        with pytest.raises(TypeError, match="Only scalar arrays can be converted to Python sca"):
            make_olympuspr(action)(np.ones(2, np.int32))

    @pytest.mark.parametrize("value", [np.ones(1, np.int32), np.float32(1)])
    def test_only_integer_scalars_are_indices(self, value):
        with pytest.raises(TypeError, match="Only integer scalar arrays can be converted"):
            make_olympuspr(range)(value)

    def test_errors_in_counting_loops_name_users_function(self):
        for upper in (3, np.int32(3)):
            run = make_olympuspr(
                lambda n, x: lax.fori_loop(0, n, lambda i, c: bool(c["a"]), {"a": x}),
                static_argnums=0 if isinstance(upper, int) else (),
            )
            with pytest.raises(
                TracerBoolConversionError,
                match=r"<lambda> at .*test_tracing.py.* for fori_loop.* argument c\['a'\]",
            ):
                run(upper, 1.0)

    def test_errors_in_map_name_the_users_function(self):
        with pytest.raises(TracerBoolConversionError, match=r"test_tracing.py.* argument item"):
            lax.map(lambda item: bool(item), np.ones(2))

    def test_errors_name_several_arguments(self):
        with pytest.raises(TracerBoolConversionError, match="values of the arguments x and ys"):
            make_olympuspr(lambda x, *ys: bool(lax.add(x, ys[1])))(1.0, 2.0, 3.0)

    def test_errors_of_constants(self):
        with pytest.raises(TracerBoolConversionError, match=r"operation `sin`\n.*test_tracing.py"):
            make_olympuspr(lambda: bool(lax.sin(1.0)))()

    def test_arrays_have_no_truth_value(self):
        with pytest.raises(ValueError, match="ambiguous"):
            in_trace(bool)

    def test_values_that_are_known_convert(self):
        def fun(x):
            with ensure_compile_time_eval():
                assert bool(lax.lt(1, 2))
            return x

        make_olympuspr(fun)(1.0)

    def test_new_scalars_are_known_in_compile_time_evaluation(self):
        def fun(x):
            with ensure_compile_time_eval():
                largest = lax.reduce_max(np.arange(3, dtype=np.float32), (0,))
                assert float(lax.convert_element_type(2, np.float32)) == 2.0
                assert float(lax.full_like(largest, 3)) == 3.0
                assert float(lax.add(largest, lax.full_like(largest, 1))) == 3.0
            return lax.mul(x, lax.full_like(x, 2))

        program = make_olympuspr(fun)(np.float32(1.0))
        assert [equation.primitive.name for equation in program.eqns] == ["mul"]

    def test_concrete_or_error(self):
        assert concrete_or_error(int, np.float32(2)) == 2
        assert concrete_or_error(None, "a") == "a"
        with pytest.raises(ConcretizationTypeError, match="in my_operation"):
            in_trace(lambda x: concrete_or_error(int, x, "in my_operation"), SCALAR)


class TestCurrentState:
    def test_set_current_trace(self):
        trace = StagingTrace()
        with set_current_trace(trace):
            assert current.trace is trace
        assert current.trace is evaluation_trace

    def test_current_trace_is_thread_local(self):
        seen = []
        with set_current_trace(StagingTrace()), extend_axes({"i": 2}):
            thread = threading.Thread(
                target=lambda: seen.append((current.trace, current.axes.sizes))
            )
            thread.start()
            thread.join()
        assert seen == [(evaluation_trace, {})]

    def test_name_stacks_grow_in_blocks(self):
        with extend_name_stack("a"), extend_name_stack("b"):
            assert current.name_stack == ("a", "b")
        assert current.name_stack == ()

    def test_incomplete_traces_raise(self):
        trace = Trace()
        with pytest.raises(NotImplementedError, match="must define process_primitive"):
            trace.process_primitive(lax.sin_p, (1.0,), {})
        with pytest.raises(NotImplementedError, match="must define aval"):
            repr(object.__new__(Tracer))

    def test_tracers_have_type_that_they_are_given(self):
        tracer = Tracer(Trace(), VECTOR)
        assert tracer.aval is VECTOR and tracer.shape == VECTOR.shape

    def test_typeof_returns_the_abstract_value(self):
        assert typeof(np.ones(3, np.float32)) is VECTOR


class TestAxisEnvironment:
    def test_environments_know_the_sizes_of_axes(self):
        axes = AxisEnvironment({"i": 2}).extend({"j": 3})
        assert axes.size("i") == 2
        assert axes.size("j") == 3
        assert "j" in axes

    def test_environments_with_equal_axes_are_equal(self):
        assert AxisEnvironment({"i": 2}) == AxisEnvironment({"i": 2})
        assert hash(AxisEnvironment({"i": 2})) == hash(AxisEnvironment({"i": 2}))
        assert AxisEnvironment({"i": 2}) != AxisEnvironment({"i": 3})

    def test_unbound_names_raise(self):
        with pytest.raises(NameError, match=r"unbound axis name: k \(bound axis names: 'i'\)"):
            AxisEnvironment({"i": 2}).size("k")
        with pytest.raises(NameError, match="unbound axis name"):
            AxisEnvironment().size([])


def test_custom_jvp_outside_of_traces():
    result = evaluation_trace.process_custom_jvp_call(
        lax.custom_jvp_call_p, lambda x: [x], None, (1,), symbolic_zeros=False
    )
    assert result == [1]
    olympuspr, _ = trace_to_olympuspr(
        lambda x: current.trace.process_custom_jvp_call(
            lax.custom_jvp_call_p, lambda y: [lax.mul(y, x)], max, (x,), symbolic_zeros=False
        ),
        [SCALAR],
    )
    (equation,) = olympuspr.eqns
    assert equation.params["num_consts"] == 1
    assert equation.primitive is lax.custom_jvp_call_p
