# SPDX-License-Identifier: Apache-2.0
from __future__ import annotations

import functools
import inspect

import numpy as np
import pytest

from olympus_ir import ShapedArray, lax
from olympus_ir.programs.calls.options import JitOptions, jit_options
from olympus_ir.programs.calls.tracing import trace_call
from olympus_ir.programs.checker import check_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.staging import StagingTracer
from olympus_ir.programs.tracing import extend_axes
from olympus_ir.settings.config import disable_jit, enable_x64
from olympus_ir.trees.function_caches import clear_function_caches
from olympus_ir.types.placement import UNSPECIFIED

NO_OPTIONS = JitOptions()


class Counted:
    """A function and how often it has been run."""

    def __init__(self):
        self.count = 0

    def __call__(self, x, y=1.0):
        self.count += 1
        return lax.mul(x, y)


class TestTracingCache:
    def test_traced_once_per_type(self):
        fun = Counted()
        compiled = jit(fun)
        for value in (1.0, 2.0, 3.0):
            assert compiled(value) == value
        assert fun.count == 1

    @pytest.mark.parametrize(
        ("args", "kwargs"),
        [
            ((np.float32(1),), {}),
            ((1,), {"y": 2}),
            ((1.0,), {"y": 2.0}),
            ((np.ones(3, np.float32),), {"y": np.float32(2)}),
            ((1.0, 2.0), {}),
        ],
    )
    def test_other_types_or_structures_are_traced_again(self, args, kwargs):
        fun = Counted()
        compiled = jit(fun)
        compiled(1.0)
        compiled(*args, **kwargs)
        assert fun.count == 2
        compiled(*args, **kwargs)
        assert fun.count == 2

    def test_two_compiled_functions_share_programs(self):
        fun = Counted()
        jit(fun)(1.0)
        jit(fun)(2.0)
        assert fun.count == 1

    def test_cache_key_has_settings_and_axes(self):
        fun = Counted()
        program, _ = trace_call(fun, NO_OPTIONS, (1.0,), {})
        with enable_x64(True):
            wide, _ = trace_call(fun, NO_OPTIONS, (1.0,), {})
        with extend_axes({"i": 2}):
            named, _ = trace_call(fun, NO_OPTIONS, (1.0,), {})
        assert fun.count == 3
        assert wide.closed.out_avals[0].dtype == np.float64
        assert trace_call(fun, NO_OPTIONS, (1.0,), {})[0] is program
        assert named is not program

    def test_programs_with_tracers_are_not_kept(self):
        count = 0

        def outer(x):
            def inner(y):
                nonlocal count
                count += 1
                return lax.mul(x, y)

            return lax.add(jit(inner)(x), jit(inner)(x))

        closed = make_olympuspr(outer)(2.0)
        check_olympuspr(closed)
        assert count == 2
        assert all(len(equation.invars) == 2 for equation in closed.eqns)

    def test_clearing_caches_traces_functions_again(self):
        fun = Counted()
        trace_call(fun, NO_OPTIONS, (1.0,), {})
        clear_function_caches()
        trace_call(fun, NO_OPTIONS, (1.0,), {})
        assert fun.count == 2

    def test_without_jit_the_function_runs_each_time(self):
        fun = Counted()
        with disable_jit():
            jit(fun)(1.0)
            jit(fun)(1.0)
        assert fun.count == 2


class TestStaticArguments:
    def test_static_arguments_are_chosen_by_position(self):
        @functools.partial(jit, static_argnums=1)
        def power(x, n):
            for _ in range(n - 1):
                x = lax.mul(x, x)
            return x

        assert power(2.0, 2) == 4
        assert power(2.0, 3) == 16

    def test_argnames_and_argnums_are_equivalent(self):
        def fun(x, n):
            assert isinstance(n, int)
            return x

        assert jit_options(fun, static_argnames="n").static_argnums == (1,)
        assert jit_options(fun, static_argnums=-1).static_argnames == ("n",)
        compiled = jit(fun, static_argnames=("n",))
        assert compiled(2.0, 3) == compiled(2.0, n=3) == 2

    def test_last_of_any_number_of_arguments(self):
        compiled = jit(lambda x, *rest: lax.mul(x, float("2" * rest[-1])), static_argnums=-1)
        assert compiled(5.0, 1) == 10
        assert compiled(5.0, 1.0, 2) == 110

    def test_values_of_different_types_are_different(self):
        seen = []
        compiled = jit(lambda n: seen.append(n) or 1.0, static_argnums=0)
        compiled(1)
        compiled(1.0)
        compiled(True)
        compiled(1)
        assert [type(value) for value in seen] == [int, float, bool]

    def test_unhashable_static_arguments_raise(self):
        def fun(x, y):
            return x

        with pytest.raises(ValueError, match="Non-hashable static arguments"):
            jit(fun, static_argnums=1)(1.0, [1])
        with pytest.raises(ValueError, match=r"argument 1 is \[1\]"):
            trace_call(fun, jit_options(fun, static_argnums=1), (1.0, [1]), {})

    def test_options_are_checked(self):
        def fun(x, y):
            return x

        with pytest.raises(
            ValueError, match=r"static_argnums=\(2,\), but only accepts 2 positional"
        ):
            jit_options(fun, static_argnums=2)
        with pytest.raises(ValueError, match=r"invalid argnames.*'z'"):
            jit_options(fun, static_argnames="z")
        with pytest.raises(TypeError, match="static_argnums must be an int"):
            jit_options(fun, static_argnums="x")
        with pytest.raises(TypeError, match="static_argnames must be a str"):
            jit_options(fun, static_argnames=[1])
        with pytest.raises(ValueError, match="static_argnames and donate_argnames cannot inters"):
            jit_options(fun, static_argnums=1, donate_argnums=1)
        with pytest.raises(ValueError, match="static_argnums and donate_argnums cannot intersect"):
            jit_options(lambda *xs: xs, static_argnums=1, donate_argnums=1)
        with pytest.raises(TypeError, match="Expected a callable value, got 3"):
            jit_options(3)

        def generator(x):
            yield x

        with pytest.raises(TypeError, match="got a generator function"):
            jit_options(generator)
        with pytest.raises(TypeError, match="staticmethod arguments are not supported"):
            jit_options(staticmethod(fun))

    def test_argnames_must_name_keyword_parameters(self):
        def fun(a, /, b, *args, **kwargs):
            return b

        jit_options(fun, static_argnames=("b", "c"))
        for name in ("a", "args"):
            with pytest.raises(ValueError, match="These are positional-only"):
                jit_options(fun, donate_argnames=name)

    def test_functions_without_signature(self):
        class Unsigned:
            __signature__ = 3

            def __call__(self, x):
                return x

        jit_options(Unsigned(), static_argnames="x")
        with pytest.raises(ValueError, match="Pass donate_argnums instead of donate_argnames"):
            jit_options(Unsigned(), donate_argnames="x")

    def test_arguments_that_are_too_large_are_named(self):
        with pytest.raises(OverflowError, match="argument path is big"):
            jit(lambda small, big: big)(1, 2**40)


class TestArguments:
    def test_bad_arguments_are_named(self):
        with pytest.raises(TypeError, match=r"<class 'str'>.*at path x\['a'\]\.\n.*static_argnums"):
            jit(lambda x: x)({"a": "text"})

    def test_static_arguments_do_not_shift_names(self):
        with pytest.raises(TypeError, match=r"path z\."):
            jit(lambda x, y, z: x, static_argnums=1)(1.0, "static", "text")


class TestEquations:
    def test_call_under_trace_is_equation(self):
        fun = jit(lambda x, y: (lax.sin(x), y), donate_argnums=1, keep_unused=True, name=None)
        closed = make_olympuspr(lambda x: fun(x, y=2) if False else fun(x, 2))(1.0)
        check_olympuspr(closed)
        params = closed.eqns[0].params
        assert params["name"] == "<lambda>"
        assert params["donated_invars"] == (False, True)
        assert params["keep_unused"] is True
        assert params["in_shardings"] == (UNSPECIFIED, UNSPECIFIED)
        assert params["in_layouts"] == (None, None)
        assert params["ctx_mesh"].empty
        assert params["jaxpr"].in_avals == [
            ShapedArray((), np.float32, True),
            ShapedArray((), np.int32, True),
        ]

    def test_the_same_function_gives_the_same_program(self):
        fun = jit(lambda x: lax.sin(x))
        closed = make_olympuspr(lambda x: fun(fun(x)))(1.0)
        first, second = closed.eqns
        assert first.params["jaxpr"] is second.params["jaxpr"]

    def test_inlined_calls_leave_no_call_equation(self):
        fun = jit(lambda x: lax.sin(x), inline=True)
        closed = make_olympuspr(lambda x: fun(x))(1.0)
        assert [equation.primitive for equation in closed.eqns] == [lax.sin_p]

    def test_inlined_functions_see_numbers_as_arrays(self):
        seen = []

        def scaled(factor, x, power):
            seen.append((factor.dtype, factor.weak_type, power))
            return lax.mul(lax.convert_element_type(factor, x.dtype), lax.integer_pow(x, power))

        fun = jit(scaled, inline=True, static_argnums=2)
        x = np.ones(3, np.float32)
        closed = make_olympuspr(lambda x: fun(2, x, 3))(x)
        assert [equation.primitive.name for equation in closed.eqns] == ["integer_pow", "mul"]
        assert "2.0:f32[]" in str(closed)
        assert seen == [(np.int32, True, 3)]
        weak = jit(lambda n: lax.convert_element_type(n, float), inline=True)
        closed = make_olympuspr(lambda x: lax.mul(weak(2), x))(x)
        assert "2.0:f32[]" in str(closed)
        fun = jit(lambda table, x: lax.mul(x, table.astype(x.dtype)), inline=True)
        closed = make_olympuspr(lambda x: fun(np.arange(3), x))(x)
        assert closed.eqns[-1].primitive is lax.mul_p

    def test_plain_arguments_of_inlined_functions_are_python_numbers(self):
        seen = []

        def halved(x):
            seen.append(type(x))
            return lax.mul(x, 0.5)

        for plain, expected in ((True, float), (False, StagingTracer)):
            fun = jit(halved, inline=True, plain_arguments=plain)
            make_olympuspr(lambda x, fun=fun: lax.mul(fun(3.0), x))(1.0)
            assert issubclass(seen.pop(), expected)

    def test_results_keep_their_structure(self):
        fun = jit(lambda x: {"a": (x, None), "b": [x]})
        assert fun(1.0) == {"a": (1.0, None), "b": [1.0]}


def test_options_are_values():
    def fun(x):
        return x

    assert jit_options(fun, inline=True) == jit_options(fun, inline=True)
    assert hash(jit_options(fun, inline=True)) == hash(jit_options(fun, inline=True))
    assert jit_options(fun, inline=True) != jit_options(fun)


@pytest.mark.parametrize(
    "fun",
    [
        lambda x, y: x,
        lambda x, /, y, *, z=1: x,
        lambda x, *rest, y: x,
        lambda *, y, **more: y,
        functools.wraps(lambda y, z: y)(lambda *args: args),
        functools.partial(lambda x, y: x, 1),
    ],
)
def test_argnums_and_argnames_follow_the_signature(fun):
    parameters = inspect.signature(fun).parameters
    by_name = [
        name
        for name, each in parameters.items()
        if each.kind in (each.KEYWORD_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    for name in by_name:
        options = jit_options(fun, static_argnames=name)
        position = list(parameters).index(name)
        is_positional = parameters[name].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        assert options.static_argnums == ((position,) if is_positional else ())
    takes_more_names = any(each.kind is each.VAR_KEYWORD for each in parameters.values())
    for name in {"x", "other"} - {*by_name}:
        if takes_more_names:
            assert jit_options(fun, static_argnames=name).static_argnames == (name,)
        else:
            with pytest.raises(ValueError, match=f"invalid argnames {{'{name}'}}"):
                jit_options(fun, static_argnames=name)
