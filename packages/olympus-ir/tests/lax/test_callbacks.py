# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import gc
import weakref

import numpy as np
import pytest

from olympus_ir import Array, lax
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.settings.config import enable_x64
from olympus_ir.types.shape_struct import ShapeDtypeStruct

VECTOR = np.arange(3, dtype=np.float32)
VECTOR_STRUCT = ShapeDtypeStruct((3,), np.float32)


@pytest.fixture
def printed(capsys):
    def lines():
        lax.effects_barrier()
        return capsys.readouterr().out

    return lines


class TestDebugPrint:
    def test_print_arrays_numbers_and_text(self, printed):
        lax.debug_print("{} {x} {y} {z[1]:.2f}", VECTOR, x=2, y="text", z=(1, np.float32(0.5)))
        assert printed() == "[0. 1. 2.] 2 text 0.50\n"

    def test_compiled_functions_print_in_each_call(self, printed):
        @jit
        def fun(x):
            lax.debug_print("x = {x}, and {0}", 1.5, x=x)
            return lax.sin(x)

        fun(VECTOR)
        fun(np.zeros(2, np.float32))
        fun(VECTOR)
        assert printed().splitlines() == [
            f"x = {x}, and 1.5" for x in ("[0. 1. 2.]", "[0. 0.]", "[0. 1. 2.]")
        ]

    def test_loops_and_branches(self, printed):
        def body(i, x):
            lax.debug_print("{}", i, ordered=True)
            return x

        lax.fori_loop(0, 3, body, 1.0)
        lax.cond(False, lambda: lax.debug_print("true"), lambda: lax.debug_print("false"))
        assert printed() == "0\n1\n2\nfalse\n"

    def test_doubled_braces_are_printed_once(self, printed):
        lax.debug_print("{{}}")  # nothing is formatted, so braces stay, as in JAX
        lax.debug_print("{{{x}}}", x=1)
        assert printed() == "{{}}\n{1}\n"

    def test_print_options_of_the_calling_context(self, printed):
        with np.printoptions(precision=2):
            fun = jit(lambda x: lax.debug_print("{}", x))
            fun(np.full(2, 1 / 3, np.float32))
        assert printed() == "[0.33 0.33]\n"

    @pytest.mark.parametrize(
        ("args", "kwargs", "error", "message"),
        [
            (("{x}", 1), {}, KeyError, "x"),
            (("{} {}", 1), {}, IndexError, "out of range"),
            (("{}", 1, 2), {}, ValueError, r"Unused positional arguments.*\[2\]"),
            (("{x}",), {"x": 1, "y": 2}, ValueError, r"Unused keyword.*\['y'\].*f-string"),
            (("{",), {}, ValueError, "Single '{'"),
            ((3,), {}, TypeError, "expected str"),
        ],
    )
    def test_formats_are_checked(self, args, kwargs, error, message):
        with pytest.raises(error, match=message):
            lax.debug_print(*args, **kwargs)

    def test_the_check_can_be_skipped(self):
        make_olympuspr(lambda: lax.debug_print("{x}", skip_format_check=True))()

    def test_printing_has_a_debug_effect(self):
        for ordered, effect in ((False, "Debug"), (True, "OrderedDebug")):
            closed = make_olympuspr(functools.partial(lax.debug_print, "x", ordered=ordered))()
            check_olympuspr(closed)
            assert [str(each) for each in closed.effects] == [effect]


class TestDebugCallback:
    def test_callbacks_receive_arrays_and_other_values(self):
        seen = []
        fun = jit(lambda x: lax.debug_callback(lambda *a, **k: seen.append((a, k)), x, "s", k=(x,)))
        fun(VECTOR)
        lax.effects_barrier()
        ((array, text), keywords) = seen[0]
        assert isinstance(array, Array)
        np.testing.assert_array_equal(np.asarray(array), VECTOR)
        assert text == "s"
        assert isinstance(keywords["k"], tuple)

    def test_non_callable_raises(self):
        with pytest.raises(TypeError, match=r"must be callable, but got an object of type.*int"):
            lax.debug_callback(3)

    def test_arguments_of_debug_callbacks_need_no_hash(self):
        seen = []
        lax.debug_callback(seen.append, {1, 2})
        lax.effects_barrier()
        assert seen == [{1, 2}]

    def test_functions_are_not_kept_alive(self):
        def callback(x):
            return None

        make_olympuspr(functools.partial(lax.debug_callback, callback))(1.0)
        reference = weakref.ref(callback)
        del callback
        gc.collect()
        assert reference() is None


class TestPureCallback:
    def test_results_have_the_declared_structure(self):
        def callback(x, *, scale):
            assert isinstance(x, Array)
            return {"a": np.asarray(x) * np.asarray(scale), "b": 1}

        result = jit(
            lambda x: lax.pure_callback(
                callback,
                {"a": VECTOR_STRUCT, "b": ShapeDtypeStruct((), np.int32)},
                x,
                scale=np.float32(2),
            )
        )(VECTOR)
        np.testing.assert_array_equal(np.asarray(result["a"]), VECTOR * 2)
        assert result["b"] == 1
        assert result["b"].dtype == np.int32

    def test_results_have_the_declared_dtypes(self):
        result = lax.pure_callback(lambda x: np.asarray(x, np.float64), VECTOR_STRUCT, VECTOR)
        assert result.dtype == np.float32

    def test_calls_of_one_function_are_equal_equations(self):
        def params():
            closed = make_olympuspr(lambda x: lax.pure_callback(np.sin, VECTOR_STRUCT, x))(VECTOR)
            return closed.eqns[0].params

        assert params() == params()
        assert hash(params()["callback"]) == hash(params()["callback"])

    @pytest.mark.parametrize(
        ("callback", "message"),
        [
            (lambda x: x[:1], r"Incorrect output shape.*#0: Expected: \(3,\), Actual: \(1,\)"),
            (lambda x: (x, x), "Mismatched number of outputs.*Expected: 1, Actual: 2"),
        ],
    )
    def test_results_of_wrong_type_raise(self, callback, message):
        with pytest.raises(Exception, match=message):
            np.asarray(lax.pure_callback(lambda x: callback(np.asarray(x)), VECTOR_STRUCT, VECTOR))

    def test_invalid_arguments_raise(self):
        with pytest.raises(ValueError, match=r"must be one of the allowed methods.*got: some"):
            lax.pure_callback(np.sin, VECTOR_STRUCT, VECTOR, vmap_method="some")
        with pytest.raises(TypeError, match=r"pytree of olympus.ShapeDtypeStruct.*got 3"):
            lax.pure_callback(np.sin, 3, VECTOR)
        wide = ShapeDtypeStruct((3,), np.float64)
        with pytest.raises(ValueError, match=r"cannot specify 64-bit types.*float64"):
            lax.pure_callback(np.sin, wide, VECTOR)
        with enable_x64(True):
            host = lambda x: np.sin(np.asarray(x, np.float64))  # noqa: E731
            assert lax.pure_callback(host, wide, VECTOR).dtype == np.float64
            with pytest.raises(RuntimeError, match="Expected: float64, Actual: float32"):
                lax.pure_callback(np.sin, wide, VECTOR)


class TestIOCallback:
    def test_ordered_callbacks_run_in_program_order(self):
        log = []

        def callback(x):
            log.append(int(x))
            return np.int32(len(log))

        def body(i, total):
            number = lax.io_callback(callback, ShapeDtypeStruct((), np.int32), i, ordered=True)
            return lax.add(total, number)

        total = jit(lambda: lax.fori_loop(0, 4, body, np.int32(0)))()
        assert total == 10
        assert log == [0, 1, 2, 3]

    def test_callbacks_may_return_nothing(self):
        log = []
        assert lax.io_callback(lambda x: log.append(x), None, 1.0) is None
        lax.effects_barrier()
        assert len(log) == 1


@pytest.mark.parametrize("types", [(), {}, None])
def test_pure_callbacks_without_results_are_removed(types):
    def refuses(x):
        raise AssertionError(f"called with {x}")

    assert lax.pure_callback(refuses, types, VECTOR) == types
    assert jit(lambda x: lax.pure_callback(refuses, types, x))(VECTOR) == types
