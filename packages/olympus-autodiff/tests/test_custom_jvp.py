# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import functools

import numpy as np
import pytest

from olympus_autodiff import SymbolicZero, custom_jvp, grad, jvp, linearize
from olympus_batching import vmap
from olympus_ir import Array, Tracer, eval_olympuspr, lax, make_olympuspr, typeof
from olympus_ir.adapters.wrapped_functions import merge_linear_aux, transformation_with_aux
from olympus_ir.diagnostics.errors import UnexpectedTracerError
from olympus_ir.programs.dead_code import dce_olympuspr
from olympus_ir.programs.jit import jit
from olympus_ir.programs.tracing import Trace, current, set_current_trace
from olympus_ir.types import dtypes


def sine_with_wrong_rule():
    """The sine, with ten times the cosine as derivative."""

    @custom_jvp
    def f(x):
        return lax.sin(x)

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), lax.mul(lax.mul(tangents[0], lax.cos(primals[0])), 10.0)

    return f


def test_rule_is_used():
    f = sine_with_wrong_rule()
    assert f(0.0) == 0.0
    assert grad(f)(0.0) == 10.0
    assert jvp(f, (0.0,), (2.0,)) == (0.0, 20.0)
    assert linearize(f, 0.0)[1](2.0) == 20.0


def test_rules_are_used_in_programs():
    f = sine_with_wrong_rule()
    x = np.zeros(2, np.float32)
    assert grad(jit(f))(0.0) == 10.0
    assert jit(grad(f))(0.0) == 10.0
    np.testing.assert_array_equal(vmap(grad(f))(x), [10, 10])
    np.testing.assert_array_equal(jvp(vmap(f), (x,), (x + 1,))[1], [10, 10])
    np.testing.assert_array_equal(vmap(grad(jit(f)))(x), [10, 10])
    assert grad(lambda x: lax.cond(True, f, lambda x: x, x))(0.0) == 10.0
    assert grad(lambda x: lax.scan(lambda c, _: (f(c), None), x, None, length=2)[0])(0.0) == 100.0


def test_rule_is_differentiated_in_turn():
    f = sine_with_wrong_rule()
    np.testing.assert_allclose(grad(grad(f))(0.5), -10 * np.sin(0.5), rtol=1e-6)


def test_pytrees_and_several_results():
    @custom_jvp
    def f(pair, scale):
        return {"product": lax.mul(pair[0], pair[1])}, scale

    @f.defjvp
    def f_jvp(primals, tangents):
        (a, b), _ = primals
        (ta, tb), ts = tangents
        out = f(*primals)
        return out, ({"product": lax.add(lax.mul(ta, b), lax.mul(a, tb))}, lax.mul(ts, 7.0))

    value, tangent = jvp(f, ((2.0, 3.0), 1.0), ((1.0, 10.0), 1.0))
    assert value == ({"product": 6.0}, 1.0)
    assert tangent == ({"product": 23.0}, 7.0)


def test_keywords_and_defaults():
    @custom_jvp
    def f(x, scale=3.0):
        return lax.mul(x, scale)

    f.defjvps(lambda t, y, x, scale: lax.mul(t, lax.mul(scale, 2.0)), None)
    assert f(2.0) == 6.0
    assert grad(f)(2.0) == 6.0
    assert grad(lambda x: f(x=x, scale=5.0))(2.0) == 10.0
    assert grad(f, argnums=1)(2.0, 5.0) == 0.0


def test_sum_of_terms():
    @custom_jvp
    def f(x, y):
        return lax.mul(x, y)

    f.defjvps(lambda t, result, x, y: lax.mul(t, result), lambda t, result, x, y: t)
    assert grad(f, argnums=(0, 1))(2.0, 3.0) == (6.0, 1.0)
    g = custom_jvp(lambda x: lax.mul(x, x))
    g.defjvps(None)
    assert grad(g)(3.0) == 0.0


@pytest.mark.parametrize("options", [{"nondiff_argnums": (0,)}, {"nondiff_argnames": "fun"}])
def test_arguments_that_are_not_differentiated(options):
    @functools.partial(custom_jvp, **options)
    def apply(fun, x):
        return fun(x)

    @apply.defjvp
    def apply_jvp(fun, primals, tangents):
        return apply(fun, *primals), lax.mul(tangents[0], 5.0)

    assert apply(lax.sin, 0.0) == 0.0
    assert grad(lambda x: apply(lax.sin, x))(0.0) == 5.0
    assert grad(lambda x: jit(lambda x: apply(lax.sin, x))(x))(0.0) == 5.0
    with pytest.raises(TypeError, match="cannot be used with nondiff_argnums"):
        apply.defjvps(None)


def test_symbolic_zeros_mark_constant_arguments():
    seen = []

    @custom_jvp
    def f(x, y):
        return lax.mul(x, y)

    def f_jvp(primals, tangents):
        seen.append([type(t) is SymbolicZero for t in tangents])
        tx, ty = tangents
        if type(ty) is SymbolicZero:
            assert (ty.shape, ty.dtype, ty.ndim, ty.size) == ((), np.float32, 0, 1)
            return f(*primals), lax.mul(tx, primals[1])
        return f(*primals), lax.add(lax.mul(tx, primals[1]), lax.mul(ty, primals[0]))

    f.defjvp(f_jvp, symbolic_zeros=True)
    assert grad(f)(2.0, 3.0) == 3.0
    assert jvp(lambda x: f(x, 3.0), (2.0,), (1.0,))[1] == 3.0
    assert grad(f, argnums=(0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert grad(jit(f))(2.0, 3.0) == 3.0
    assert seen == [[False, True], [False, True], [False, False], [False, True]]


def test_symbolic_zero_may_be_returned():
    @custom_jvp
    def f(x):
        return lax.mul(x, x)

    f.defjvp(
        lambda primals, tangents: (f(*primals), SymbolicZero(tangents[0].aval)),
        symbolic_zeros=True,
    )
    assert grad(f)(3.0) == 0.0


def test_tangents_of_integers_are_float0():
    @custom_jvp
    def f(x, n):
        return lax.mul(x, lax.convert_element_type(n, np.float32))

    @f.defjvp
    def f_jvp(primals, tangents):
        x, n = primals
        assert tangents[1].dtype == dtypes.float0
        return f(x, n), f(tangents[0], n)

    assert grad(f)(2.0, 3) == 3.0


def test_custom_functions_applied_to_tangents():
    inner = sine_with_wrong_rule()

    @custom_jvp
    def f(x):
        return inner(x)

    # A custom function applied to a tangent is linear, hence its own derivative.
    double = custom_jvp(lambda t: lax.mul(t, 2.0))
    double.defjvps(lambda t, y, x: lax.mul(t, 100.0))
    f.defjvp(lambda primals, tangents: (f(*primals), double(tangents[0])))
    assert grad(f)(0.0) == 2.0


def test_tangents_may_be_python_numbers():
    f = custom_jvp(lambda x: lax.mul(x, x))
    f.defjvp(lambda primals, tangents: (f(*primals), 1.0))
    assert jvp(f, (3.0,), (5.0,))[1] == 1.0
    assert grad(f)(3.0) == 0.0  # it does not depend on the tangent


def test_a_missing_rule_raises():
    f = custom_jvp(lax.sin)
    with pytest.raises(AttributeError, match="No JVP defined for custom_jvp function sin"):
        f(1.0)


@pytest.mark.parametrize(
    "rule, message",
    [
        (lambda p, t: 3.0, "must produce a pair .* but got 3.0"),
        (lambda p, t: (p[0], (t[0],)), r"equal container .* PyTreeDef\(\*\) and PyTreeDef\(\(\*,"),
        (lambda p, t: (p[0], np.ones(3, np.float32)), r"Expected float32\[\].* but got float32\[3"),
        (lambda p, t: (p[0], np.float16(1)), r"Expected float32\[\].* but got float16\[\]"),
        (lambda p, t: (3, 1.0), "Expected float0.* but got float32.*zeros"),
    ],
)
def test_invalid_results_of_a_rule_raise(rule, message):
    f = custom_jvp(lambda x: x)
    f.defjvp(rule)
    with pytest.raises(TypeError, match=message):
        grad(f)(1.0)


def test_rule_result_of_another_structure_raises():
    f = custom_jvp(lambda x: x)
    f.defjvp(lambda primals, tangents: ((f(*primals),), (tangents[0],)))
    with pytest.raises(TypeError, match="of the same container/pytree structure"):
        grad(jit(f))(1.0)


def test_keyword_only_arguments():
    @custom_jvp
    def f(x, *, scale=2.0):
        return lax.mul(x, scale)

    f.defjvps(lambda t, y, x: lax.mul(t, 10.0))
    assert grad(f)(3.0) == 10.0
    with pytest.raises(TypeError, match="could not be resolved to positional-only arguments"):
        grad(lambda x: f(x, scale=3.0))(3.0)


def test_closing_over_differentiated_values():
    def outer(w):
        @custom_jvp
        def f(x):
            return lax.mul(x, w)

        f.defjvp(lambda primals, tangents: (f(*primals), lax.mul(tangents[0], w)))
        return f(1.0)

    assert outer(2.0) == 2.0
    with pytest.raises(UnexpectedTracerError):
        grad(outer)(2.0)
    with pytest.raises(UnexpectedTracerError, match="with respect to a closed-over value"):
        grad(jit(outer))(2.0)


def test_rule_that_closes_over_tracer_in_program():
    def outer(w):
        f = custom_jvp(lambda x: lax.mul(x, 2.0))
        f.defjvp(lambda primals, tangents: (f(*primals), lax.mul(tangents[0], w)))
        return grad(jit(f))(1.0)

    with pytest.raises(UnexpectedTracerError, match="Pass the value to the function"):
        grad(outer)(2.0)


def test_shows_its_name():
    f = sine_with_wrong_rule()
    assert f.__name__ == "f"
    assert repr(f) == "<custom_jvp function f>"


def test_unknown_argument_names_raise():
    with pytest.raises(ValueError, match="nondiff_argnames names 'y'"):
        custom_jvp(lambda x: x, nondiff_argnames=("y",))


def test_equations_can_be_bound_again():
    @custom_jvp
    def f(x):
        return lax.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), lax.mul(3.0, tangents[0])))
    (equation,) = make_olympuspr(f)(1.0).eqns
    params = equation.primitive.get_bind_params(equation.params)
    assert set(params) == {"subfuns", "symbolic_zeros"}
    assert params["subfuns"][0].call_wrapped(1.0) == [pytest.approx(np.sin(1.0))]
    for given in (params, equation.params):
        (result,) = equation.primitive.bind(1.0, **given)
        assert float(result) == pytest.approx(np.sin(1.0))
        assert grad(lambda x, given=given: equation.primitive.bind(x, **given)[0])(1.0) == 3.0


def test_trace_of_a_library():
    class OtherTracer(Tracer):
        def __init__(self, trace, value):
            self._trace, self.value = trace, value

        aval = property(lambda self: typeof(self.value))

    class OtherTrace(Trace):
        """Takes values out of tracers and puts results into tracers."""

        def __init__(self, parent_trace):
            super().__init__()
            self.parent_trace = parent_trace

        def unwrap(self, value):
            return value.value if isinstance(value, OtherTracer) else value

        def process_primitive(self, primitive, args, params):
            with set_current_trace(self.parent_trace):
                out = primitive.bind(*map(self.unwrap, args), **params)
            return OtherTracer(self, out)

        def process_custom_jvp_call(self, primitive, fun, jvp, tracers, *, symbolic_zeros):
            fun, count = counting(fun)
            jvp, derived_count = counting(jvp)
            args = [self.unwrap(tracer) for tracer in tracers]
            params = {"subfuns": (fun, jvp), "symbolic_zeros": symbolic_zeros}
            outs = primitive.bind_with_trace(self.parent_trace, args, map(typeof, args), params)
            assert merge_linear_aux(count, derived_count)[1] in (1, 2)
            return [OtherTracer(self, out) for out in outs]

    @transformation_with_aux
    def counting(*args):
        trace = OtherTrace(current.trace)
        with set_current_trace(trace):
            outs = yield [OtherTracer(trace, arg) for arg in args], {}
            outs = [trace.unwrap(trace.full_raise(out)) for out in outs]
        yield outs, len(outs)

    @custom_jvp
    def f(x):
        return lax.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), lax.mul(3.0, tangents[0])))

    def through_other_trace(x):
        trace = OtherTrace(current.trace)
        with set_current_trace(trace):
            return trace.unwrap(f(OtherTracer(trace, x)))

    assert float(through_other_trace(1.0)) == pytest.approx(np.sin(1.0))
    assert grad(through_other_trace)(1.0) == 3.0


def test_traces_of_libraries_run_the_function():
    class Through(Trace):
        def __init__(self, parent_trace):
            super().__init__()
            self.parent_trace = parent_trace

        def process_primitive(self, primitive, args, params):
            with set_current_trace(self.parent_trace):
                return primitive.bind(*args, **params)

        def process_custom_jvp_call(self, primitive, fun, jvp, tracers, **options):
            return fun.call_wrapped(*tracers)

    @custom_jvp
    def f(x):
        return {"sine": lax.sin(x)}

    f.defjvp(lambda primals, tangents: (f(*primals), {"sine": tangents[0]}))
    with set_current_trace(Through(current.trace)):
        assert f(0.0) == {"sine": 0.0}


def test_python_number_arguments_have_a_dtype():
    seen = []

    @functools.partial(custom_jvp, nondiff_argnums=(2,))
    def f(x, pair, static):
        seen.append((x.dtype, pair["n"].dtype, type(static)))
        return lax.mul(x, 2.0)

    f.defjvp(lambda static, primals, tangents: (f(*primals, static), tangents[0]))
    f(1.0, {"n": 2}, 3)
    grad(f)(1.0, {"n": 2.0}, 3)
    assert seen == [("float32", "int32", int), ("float32", "float32", int)]


def constant_with_rule(derivative):
    """Returns a function with a JVP rule whose value depends only on the operand's shape."""

    @custom_jvp
    def f(x):
        return lax.full_like(x, 3.0)

    @f.defjvp
    def f_jvp(primals, tangents):
        return f(*primals), lax.mul(derivative(*primals), tangents[0])

    return f


@pytest.mark.parametrize("wrap", [lambda f: f, jit], ids=["plain", "compiled"])
def test_results_equal_for_all_examples(wrap):
    """The recorded call has a batch dimension: the tangents of its result differ."""
    f = wrap(constant_with_rule(lax.cos))
    x = np.array([[0.5, 1.0], [1.5, 2.0], [2.5, 3.0]], np.float32)

    def total(x):
        return lax.reduce_sum(vmap(f)(x), (0, 1))

    np.testing.assert_allclose(grad(total)(x), np.cos(x), rtol=1e-6)
    value, tangent = jvp(total, (x,), (x,))
    assert value == 3 * x.size
    np.testing.assert_allclose(tangent, np.sum(x * np.cos(x)), rtol=1e-6)
    np.testing.assert_array_equal(vmap(f, in_axes=1, out_axes=1)(x), np.full_like(x, 3))


def test_derivatives_of_batches_of_tangents_of_constants():
    f = jit(constant_with_rule(lax.cos))
    x = np.array([[0.5, 1.0], [1.5, 2.0]], np.float32)

    def tangents(x):
        return vmap(lambda row: jvp(f, (row,), (lax.sin(row),))[1])(x)

    expected = np.cos(2 * x)  # of the products of sine and cosine
    gradient = grad(lambda x: lax.reduce_sum(tangents(x), (0, 1)))(x)
    np.testing.assert_allclose(gradient, expected, rtol=1e-5, atol=1e-6)


def test_rules_with_mismatched_primal_results_raise():
    @custom_jvp
    def f(x):
        return x

    def loop(x):
        return lax.scan(lambda c, _: (f(c), None), x, None, length=1)[0]

    x = np.float32(1)
    f.defjvp(lambda primals, tangents: ((primals[0],) * 2, (tangents[0],) * 2))
    shown = (
        r"pytree structure:\n    \(float32\[\], float32\[\]\)\nwhile .* f had .*\n    float32\[\]"
    )
    with pytest.raises(TypeError, match=shown):
        jvp(loop, (x,), (x,))
    f.defjvp(lambda primals, tangents: (np.zeros(3, np.float32), tangents[0]))
    with pytest.raises(TypeError, match=r"shapes/dtypes of:\n    float32\[3\]\nwhile .* f had"):
        jvp(loop, (x,), (x,))


def test_dead_results_are_removed_from_rules():
    @custom_jvp
    def f(x, y):
        return lax.sin(x), lax.cos(y)

    @f.defjvp
    def rule(primals, tangents):
        (x, y), (dx, dy) = primals, tangents
        return f(x, y), (lax.mul(3.0, dx), lax.mul(5.0, dy))

    program = make_olympuspr(f)(0.1, 0.2).jaxpr
    reduced, used = dce_olympuspr(program, [False, True])
    (call,) = reduced.eqns
    assert [equation.primitive.name for equation in call.params["call_jaxpr"].eqns] == ["cos"]
    assert used == [True, True]

    def of_reduced(x, y):
        return eval_olympuspr(reduced, [], x, y)[0]

    assert grad(of_reduced, argnums=(0, 1))(0.1, 0.2) == (0.0, 5.0)


def test_python_numbers_returned_by_rules():
    """Outside of compiled functions they are returned unchanged, as in JAX."""

    @custom_jvp
    def f(x):
        return lax.sin(x)

    f.defjvp(lambda primals, tangents: (f(*primals), 2.0))
    (_, tangent) = jvp(f, (1.0,), (1.0,))
    assert type(tangent) is float and tangent == 2.0
    assert jit(lambda x: jvp(f, (x,), (x,))[1])(1.0).dtype == np.float32
    assert isinstance(grad(lambda x: x)(1.0), Array)


def test_positions_of_arguments_are_not_names():
    with pytest.raises(TypeError, match="got 'x'; use nondiff_argnames for names"):
        custom_jvp(lambda x, y: x, nondiff_argnums="x")
    assert custom_jvp(lambda x, y: x, nondiff_argnums=(np.int64(1),)).nondiff_argnums == (1,)
