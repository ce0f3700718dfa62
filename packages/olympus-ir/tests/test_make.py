# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import pickle

import numpy as np
import pytest

from olympus_ir import ShapedArray, lax
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import eval_shape, make_olympuspr, named_call, named_scope
from olympus_ir.programs.tracing import current
from olympus_ir.types.extended_dtypes import float0
from olympus_ir.types.shape_struct import ShapeDtypeStruct

STRUCT = ShapeDtypeStruct((2, 3), np.float32)


class TestMakeOlympuspr:
    def test_arguments_may_be_types(self):
        closed = make_olympuspr(lambda x: lax.reduce_sum(x["a"], (0,)))({"a": STRUCT})
        check_olympuspr(closed)
        assert closed.in_avals == [ShapedArray((2, 3), np.float32)]
        assert closed.out_avals == [ShapedArray((3,), np.float32)]

    def test_static_arguments_are_not_inputs(self):
        closed = make_olympuspr(lambda x, n: lax.integer_pow(x, n), static_argnums=1)(2.0, 3)
        assert str(closed) == "{ lambda ; a:f32[]. let b:f32[] = integer_pow[y=3] a in (b,) }"

    def test_the_first_argument_may_be_static(self):
        program = make_olympuspr(lambda f, x: f(x), static_argnums=0)(lax.sin, 1.0)
        assert str(program) == "{ lambda ; a:f32[]. let b:f32[] = sin a in (b,) }"

    def test_branch_programs_have_result_paths(self):
        program = make_olympuspr(lambda x: lax.cond(x > 0, lambda x: (x, x), lambda x: (x, x), x))
        info = program(1.0).eqns[-1].params["branches"][0].jaxpr.debug_info
        assert info.result_paths == ("result[0]", "result[1]")

    def test_keyword_arguments_are_inputs(self):
        closed = make_olympuspr(lambda x, **kwargs: lax.mul(x, kwargs["y"]))(2.0, y=3.0)
        assert len(closed.in_avals) == 2
        assert closed.debug_info.arg_names == ("x", "kwargs['y']")

    def test_return_shape_gives_the_types_of_results(self):
        closed, shape = make_olympuspr(lambda x: {"a": x, "b": (1,)}, return_shape=True)(STRUCT)
        assert shape == {"a": STRUCT, "b": (ShapeDtypeStruct((), np.int32, weak_type=True),)}
        assert closed.debug_info.result_paths == ("result['a']", "result['b'][0]")

    def test_named_axes_are_bound_by_axis_env(self):
        closed = make_olympuspr(lambda x: lax.psum(x, "i"), axis_env=[("i", 3)])(1.0)
        assert [str(effect) for effect in closed.effects] == ["NamedAxis(i)"]

    def test_unused_results_print_as_underscore(self):
        closed = make_olympuspr(lambda x: (lax.sin(x), x)[1])(1.0)
        assert str(closed) == "{ lambda ; a:f32[]. let _:f32[] = sin a in (a,) }"
        assert str(closed.eqns[0]) == "a:f32[] = sin b"

    def test_made_functions_are_named_after_the_function(self):
        def fun(x):
            return x

        assert make_olympuspr(fun).__name__ == "make_olympuspr(fun)"
        with pytest.raises(TypeError, match="Expected a callable value, got 3"):
            make_olympuspr(3)

    def test_later_calls_are_traced_again(self):
        values = [1.0]
        maker = make_olympuspr(lambda: values[0])
        assert "1.0" in str(maker())
        values[0] = 2.0
        assert "2.0" in str(maker())


class TestEvalShape:
    def test_eval_shape_returns_types(self):
        def fun(x, y):
            return {"product": lax.mul(x, x), "pair": (y, 2.0)}

        assert eval_shape(fun, STRUCT, 1) == {
            "product": STRUCT,
            "pair": (
                ShapeDtypeStruct((), np.int32, weak_type=True),
                ShapeDtypeStruct((), np.float32, weak_type=True),
            ),
        }

    def test_of_compiled_functions(self):
        assert eval_shape(jit(lax.sin), STRUCT) == STRUCT

    def test_eval_shape_raises_errors_of_call(self):
        with pytest.raises(TypeError, match="incompatible shapes"):
            eval_shape(lax.add, STRUCT, ShapeDtypeStruct((3, 2), np.float32))
        with pytest.raises(TypeError, match="Expected a callable value"):
            eval_shape(3, STRUCT)
        with pytest.raises(TypeError, match=r"<class 'str'>.*path x"):
            eval_shape(lambda x: x, "text")


class TestScopes:
    def test_names_are_nested(self):
        def fun(x):
            with named_scope("outer"):
                y = lax.sin(x)
                with named_scope("inner"):
                    z = lax.cos(y)
            return lax.mul(z, z)

        closed = make_olympuspr(fun)(1.0)
        stacks = [equation.source_info.name_stack for equation in closed.eqns]
        assert stacks == [("outer",), ("outer", "inner"), ()]
        assert current.name_stack == ()

    def test_nested_programs_have_separate_name_stacks(self):
        def fun(x):
            with named_scope("outer"):
                return jit(named_call(lax.sin, name="wave"))(x)

        (equation,) = make_olympuspr(fun)(1.0).eqns
        assert equation.source_info.name_stack == ("outer",)
        (inner,) = equation.params["jaxpr"].eqns
        assert inner.source_info.name_stack == ("wave",)

    def test_names_join_where_program_is_run_again(self):
        from olympus_ir import eval_olympuspr

        closed = make_olympuspr(named_scope("inner")(lambda x: lax.sin(x)))(1.0)

        def fun(x):
            with named_scope("outer"):
                return eval_olympuspr(closed.jaxpr, closed.consts, x)

        (equation,) = make_olympuspr(fun)(1.0).eqns
        assert equation.source_info.name_stack == ("outer", "inner")

    def test_scope_can_be_entered_twice(self):
        scope = named_scope("a")
        with scope, scope:
            assert current.name_stack == ("a", "a")
        assert current.name_stack == ()

    def test_names_are_strings(self):
        with pytest.raises(TypeError, match="must be a string"):
            named_scope(3)

    def test_named_call_keeps_the_function_s_name(self):
        def layer(x):
            return lax.sin(x)

        called = named_call(layer)
        assert called.__name__ == "layer"
        assert make_olympuspr(called)(1.0).eqns[0].source_info.name_stack == ("layer",)


class TestShapeDtypeStruct:
    def test_properties_describe_shape_and_dtype(self):
        assert (STRUCT.shape, STRUCT.dtype, STRUCT.ndim, STRUCT.size) == ((2, 3), np.float32, 2, 6)
        assert len(STRUCT) == 2
        assert (STRUCT.sharding, STRUCT.weak_type, STRUCT.is_ref) == (None, False, False)

    def test_texts_show_the_constructor(self):
        assert repr(STRUCT) == "ShapeDtypeStruct(shape=(2, 3), dtype=float32)"
        weak = ShapeDtypeStruct([2], "float32", weak_type=True)
        assert repr(weak) == "ShapeDtypeStruct(shape=(2,), dtype=float32, weak_type=True)"

    def test_structs_with_equal_fields_are_equal(self):
        assert ShapeDtypeStruct((2, 3), "float32") == STRUCT
        assert hash(ShapeDtypeStruct((2, 3), "float32")) == hash(STRUCT)
        assert STRUCT.update(shape=(3,)) == ShapeDtypeStruct((3,), np.float32)
        assert STRUCT.update(weak_type=True) != STRUCT
        assert pickle.loads(pickle.dumps(STRUCT)) == STRUCT

    def test_like_takes_the_type_of_a_value(self):
        assert ShapeDtypeStruct.like(np.ones((2, 3), np.float32)) == STRUCT
        assert ShapeDtypeStruct((), float0).dtype == float0

    def test_unsuitable_fields_raise(self):
        with pytest.raises(ValueError, match="dtype must be specified"):
            ShapeDtypeStruct((2,), None)
        with pytest.raises(TypeError, match="unsized"):
            len(ShapeDtypeStruct((), np.float32))
        with pytest.raises(RuntimeError, match=r"Cannot reassign attributes \(shape\)"):
            STRUCT.shape = (1,)
        with pytest.raises(TypeError, match=r"no properties \['color'\]"):
            STRUCT.update(color="red")
