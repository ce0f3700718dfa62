# SPDX-License-Identifier: Apache-2.0
"""Taylor mode: published series, programs with control flow, other transformations, errors."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import special

from olympus_autodiff import custom_jvp, custom_vjp, grad, jvp, vjp
from olympus_autodiff.jet import (
    JetTracer,
    def_comp,
    def_deriv,
    deflinear,
    defzero,
    deriv_prop,
    fact,
    jet,
    jet2,
    jet_fun,
    jet_rules,
    jet_subtrace,
    linear_prop,
    traceable,
    zero_prop,
    zero_series,
)
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.adapters.wrapped_functions import wrap_init
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.references.primitives import freeze, new_ref
from olympus_ir.settings import config
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import debug_info
from olympus_testing import assert_close


@pytest.fixture(autouse=True)
def in_double_precision():
    with config.enable_x64(True):
        yield


def derivatives(fun, x, order):
    """The derivatives of a function of a number, up to some order."""
    return [float(term) for term in jet(fun, (x,), ([1.0] + [0.0] * (order - 1),))[1]]


def one_minus(x):
    return lax.sub(1.0, x)


def times(factor, x):
    return lax.mul(x, float(factor))


# Of the sequences, numbers in the On-Line Encyclopedia of Integer Sequences.
SEQUENCES = {
    "Bell, A000110": (
        lambda t: lax.exp(lax.expm1(t)),
        [1, 2, 5, 15, 52, 203, 877],
    ),
    "tangent, A000182": (lax.tan, [1, 0, 2, 0, 16, 0, 272]),
    "hyperbolic tangent": (lax.tanh, [1, 0, -2, 0, 16, 0, -272]),
    "secant, A000364": (lambda t: lax.div(1.0, lax.cos(t)), [0, 1, 0, 5, 0, 61, 0]),
    "logarithm": (lax.log1p, [1, -1, 2, -6, 24, -120, 720]),
    "involutions, A000085": (
        lambda t: lax.exp(lax.add(t, times(0.5, lax.square(t)))),
        [1, 2, 4, 10, 26, 76, 232],
    ),
    "Fubini, A000670": (
        lambda t: lax.div(1.0, lax.sub(2.0, lax.exp(t))),
        [1, 3, 13, 75, 541, 4683, 47293],
    ),
    "arctangent": (lax.atan, [1, 0, -2, 0, 24, 0, -720]),
    "arcsine, A001818": (lax.asin, [1, 0, 1, 0, 9, 0, 225]),
    "double factorials, A001147": (
        lambda t: lax.rsqrt(one_minus(times(2, t))),
        [1, 3, 15, 105, 945, 10395, 135135],
    ),
    "logistic, times 2^(n+1)": (
        lambda t: times(2, lax.logistic(times(2, t))),
        [1, 0, -2, 0, 16, 0, -272],
    ),
}
COEFFICIENTS = {
    "Fibonacci, A000045": (
        lambda t: lax.div(t, lax.sub(one_minus(t), lax.square(t))),
        [1, 1, 2, 3, 5, 8, 13],
    ),
    "Catalan, A000108": (
        lambda t: times(0.5, one_minus(lax.sqrt(one_minus(times(4, t))))),
        [1, 1, 2, 5, 14, 42, 132],
    ),
    "central binomials, A000984": (
        lambda t: lax.pow(one_minus(times(4, t)), -0.5),
        [2, 6, 20, 70, 252, 924, 3432],
    ),
    "cube root": (
        lambda t: lax.cbrt(one_minus(times(9, t))),
        [-3, -9, -45, -270, -1782, -12474, -90882],
    ),
    "binomial of integer power": (
        lambda t: lax.integer_pow(lax.add(t, 1.0), 5),
        [5, 10, 10, 5, 1, 0, 0],
    ),
    "negative integer power": (
        lambda t: lax.integer_pow(one_minus(t), -3),
        [3, 6, 10, 15, 21, 28, 36],
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_exponential_generating_functions(name):
    fun, expected = SEQUENCES[name]
    np.testing.assert_allclose(derivatives(fun, 0.0, 7), expected, rtol=1e-12, atol=1e-11)


@pytest.mark.parametrize("name", COEFFICIENTS)
def test_generating_functions_have_known_coefficients(name):
    fun, expected = COEFFICIENTS[name]
    _, terms = jet2(fun, (0.0,), ([1.0] + [0.0] * 6,))
    np.testing.assert_allclose([float(term) for term in terms], expected, rtol=1e-12, atol=1e-11)


def test_derivatives_of_the_gamma_function():
    found = derivatives(lax.lgamma, 2.5, 6)
    expected = [float(special.polygamma(n, 2.5)) for n in range(6)]
    np.testing.assert_allclose(found, expected, rtol=1e-10)


def test_derivatives_of_the_error_function():
    """They are Hermite polynomials times a Gaussian."""
    x = 0.7
    found = derivatives(lax.erf, x, 6)
    expected = [
        2 / math.sqrt(math.pi) * math.exp(-x * x) * (-1) ** n * special.eval_hermite(n, x)
        for n in range(6)
    ]
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("exponent", [3.0, 1.0, 0.0, 2])
def test_power_at_zero(exponent):
    found = derivatives(lambda x: lax.pow(x, exponent), 0.0, 4)
    expected = [0.0] * 4
    if exponent:
        expected[int(exponent) - 1] = math.factorial(int(exponent))
    assert found == expected


def test_power_with_differentiated_exponent():
    x = 1.3
    found = derivatives(lambda x: lax.pow(x, x), x, 2)
    slope = math.log(x) + 1
    np.testing.assert_allclose(found, [x**x * slope, x**x * (slope**2 + 1 / x)], rtol=1e-12)


# ---- programs ----


def loop_of_sines(x):
    return lax.fori_loop(0, 3, lambda _, y: lax.sin(y), x)


def until_large(x):
    return lax.while_loop(lambda y: lax.lt(y, 5.0), lambda y: lax.mul(y, y), lax.exp(x))


def scan_with_results(x):
    def body(carry, slice_):
        carry = lax.sin(lax.mul(carry, slice_))
        return carry, lax.mul(carry, x)

    carry, ys = lax.scan(body, x, np.array([0.5, 1.5, 2.0]))
    return [carry, lax.reduce_sum(ys, (0,))]


def starts_moving_in_loop(x):
    return lax.fori_loop(0, 4, lambda _, y: (lax.mul(y[0], x), lax.add(y[0], y[1])), (1.0, 0.0))


def choice(x):
    return lax.cond(lax.gt(x, 0.0), lambda y: [lax.sin(y), 1.0], lambda y: [y, lax.cos(y)], x)


def with_reference(x):
    ref = new_ref(lax.sin(x))
    ref[...] = lax.mul(ref[...], x)
    return freeze(ref)


PROGRAMS = {
    "loop": loop_of_sines,
    "while": until_large,
    "scan": scan_with_results,
    "starts moving": starts_moving_in_loop,
    "cond": choice,
    "jit": jit(lambda x: [lax.sin(x), 2.0]),
    "reference": with_reference,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_terms_equal_derivatives_along_the_curve(name):
    fun = PROGRAMS[name]
    result, terms = jet(fun, (0.4,), ((1.0, 0.5, -0.2),))
    assert_close(result, fun(0.4))

    def along(t):
        return fun(0.4 + t * (1.0 + t * (0.25 + t * (-0.2 / 6))))

    expected = []
    for _ in range(3):
        along = (lambda inner: lambda t: jvp(inner, (t,), (1.0,))[1])(along)
        expected.append(along(0.0))
    leaves = pytrees.tree_leaves(result)
    found = pytrees.tree_leaves(terms)
    for place in range(len(leaves)):
        np.testing.assert_allclose(
            found[3 * place : 3 * place + 3],
            [pytrees.tree_leaves(each)[place] for each in expected],
            rtol=1e-10,
            atol=1e-12,
        )


def test_programs_are_derived_once():
    traces = []

    @jit
    def counted(x):
        traces.append(x)
        return lax.sin(x)

    for _ in range(3):
        jet(counted, (0.5,), ((1.0, 0.0),))
    assert len(traces) == 1


def test_custom_jvp_rule_is_used_at_all_orders():
    """To all orders: each derivative is that of the rule before it."""

    @custom_jvp
    def cube(x):
        return x * x * x

    @cube.defjvp
    def _(primals, tangents):
        (x,), (t,) = primals, tangents
        return x * x * x, 10.0 * x * x * t

    _, terms = jet(cube, (2.0,), ((1.0, 0.0, 0.0),))
    assert [float(term) for term in terms] == [40.0, 40.0, 20.0]
    assert derivatives(jit(cube), 2.0, 3) == [40.0, 40.0, 20.0]


def test_custom_vjp_is_differentiated_through():
    @custom_vjp
    def cube(x):
        return x * x * x

    cube.defvjp(lambda x: (x * x * x, x), lambda x, ct: (0.0 * ct,))
    assert derivatives(cube, 2.0, 3) == [12.0, 12.0, 6.0]


# ---- together with other transformations ----


def second(fun):
    return lambda x: jet(fun, (x,), ((1.0, 0.0),))[1][1]


def test_composes_with_transformations():
    x = np.array([0.3, 1.1, -0.7])
    np.testing.assert_allclose(vmap(second(lax.sin))(x), -np.sin(x), rtol=1e-12)
    assert math.isclose(float(jit(second(lax.sin))(0.3)), -math.sin(0.3))
    assert math.isclose(float(grad(second(lax.sin))(0.3)), -math.cos(0.3))
    assert math.isclose(float(second(grad(lax.sin))(0.3)), -math.cos(0.3))
    assert math.isclose(float(second(second(lax.sin))(0.3)), math.sin(0.3))
    _, pull = vjp(second(lax.exp), 0.5)
    assert math.isclose(float(pull(1.0)[0]), math.exp(0.5))


def test_cost_is_polynomial():
    """Nested derivatives of the tenth order would take 2^10 sines and cosines."""
    program = make_olympuspr(lambda x: jet(lax.sin, (x,), ([1.0] + [0.0] * 9,)))(0.5)
    names = [equation.primitive.name for equation in program.eqns]
    assert names.count("sin") == names.count("cos") == 1
    assert len(names) < 500


# ---- structures and scaling ----


def test_results_and_terms_may_be_pytrees():
    def fun(point):
        return {"product": point["x"] * point["y"], "same": (point["x"],), "fixed": 2.0}

    point = {"x": 2.0, "y": 3.0}
    result, terms = jet(fun, (point,), ({"x": [1.0, 0.0], "y": [0.0, 1.0]},))
    assert pytrees.tree_map(float, result) == {"product": 6.0, "same": (2.0,), "fixed": 2.0}
    assert pytrees.tree_map(float, terms) == {
        "product": [3.0, 2.0],
        "same": ([1.0, 0.0],),
        "fixed": [0.0, 0.0],
    }


def test_scaling_by_factorials():
    _, derivative_terms = jet(lax.exp, (0.0,), ((1.0, 0.0, 0.0),))
    _, coefficients = jet(lax.exp, (0.0,), ((1.0, 0.0, 0.0),), factorial_scaled=False)
    assert [float(term) for term in derivative_terms] == [1.0, 1.0, 1.0]
    np.testing.assert_allclose([float(term) for term in coefficients], [1.0, 1 / 2, 1 / 6])
    value, terms = jet2(lax.exp, (0.0,), ((1.0, 0.0, 0.0),))
    assert isinstance(terms, tuple) and float(value) == 1.0
    assert [float(term) for term in terms] == [float(term) for term in coefficients]


def test_integer_results_have_zero_terms():
    result, terms = jet(lambda x: lax.convert_element_type(x, np.int32), (1.5,), ((1.0, 2.0),))
    assert int(result) == 1 and [float(term) for term in terms] == [0.0, 0.0]


def test_terms_take_shape_and_dtype_of_arguments():
    x = np.ones(3, np.float32)
    _, (first, _) = jet(lax.sin, (x,), ((1.0, np.zeros(3)),))
    assert (first.shape, first.dtype) == ((3,), np.float32)


def test_empty_series_have_no_terms():
    result, terms = jet(lax.sin, (0.5,), ((),))
    assert float(result) == math.sin(0.5) and terms == []


# ---- rules of one's own ----


def power_of_e():
    primitive = Primitive("power_of_e")
    primitive.def_abstract_eval(lambda x: x)
    primitive.def_impl(np.exp)
    return primitive


@pytest.mark.parametrize("how", ["derivative", "composition", "by hand"])
def test_user_defined_rules(how):
    primitive = power_of_e()
    if how == "derivative":
        def_deriv(primitive, lax.exp)
    elif how == "composition":
        def_comp(primitive, lax.exp)
    else:
        given = []

        def rule(primals, series):
            given.append(series)
            value, terms = jet2(lax.exp, primals, series)
            return value, list(terms)

        jet_rules[primitive] = rule
    try:
        np.testing.assert_allclose(derivatives(primitive.bind, 0.5, 4), [math.exp(0.5)] * 4)
    finally:
        del jet_rules[primitive]


def test_propagation_functions_return_series():
    assert zero_prop(lax.floor_p, (1.5,), ([1.0],))[1] is zero_series
    _, terms = linear_prop(lax.neg_p, (1.0,), ([1.0, 2.0],))
    assert [float(term) for term in terms] == [-1.0, -2.0]
    value, terms = deriv_prop(lax.exp_p, lax.exp, (0.0,), ([1.0, 0.0],))
    assert [float(value), *map(float, terms)] == [1.0, 1.0, 0.5]


def test_linear_and_constant_primitives():
    for define, expected in ((deflinear, [-2.0, -6.0]), (defzero, [0.0, 0.0])):
        primitive = Primitive("negative")
        primitive.def_abstract_eval(lambda x: x)
        primitive.def_impl(np.negative)
        define(primitive)
        _, terms = jet(primitive.bind, (1.0,), ((2.0, 6.0),))
        assert [float(term) for term in terms] == expected
        del jet_rules[primitive]


def test_wrapped_functions_are_propagated():
    fun = wrap_init(lambda x: [lax.sin(x), 1.0], debug_info=debug_info("jet", lax.sin, (0.5,), {}))
    values, terms = jet_fun(jet_subtrace(fun), 2).call_wrapped((0.5,), ([1.0, 0.0],))
    assert float(values[0]) == math.sin(0.5)
    assert [float(term) for term in terms[0]] == [math.cos(0.5), -math.sin(0.5) / 2]
    assert [float(term) for term in terms[1]] == [0.0, 0.0]
    in_leaves, in_tree = pytrees.tree_flatten(((0.5,), ((1.0, 0.0),)))
    flat, out_tree = traceable(jet_fun(jet_subtrace(fun), 2), in_tree)
    leaves = flat.call_wrapped(*in_leaves)
    assert len(leaves) == out_tree().num_leaves == 6


def test_factorials_are_exact():
    assert float(fact(5)) == 120.0
    np.testing.assert_array_equal(fact(np.arange(6)), [1, 1, 2, 6, 24, 120])


# ---- errors ----


def test_tracers_show_their_terms():
    def fun(x):
        assert isinstance(x, JetTracer) and repr(x).startswith("JetTracer<")
        assert [float(term) for term in x.terms] == [1.0, 0.5]
        return x

    jet(fun, (0.5,), ((1.0, 1.0),))


@pytest.mark.parametrize(
    ("primals", "series", "error", "message"),
    [
        (0.5, ((1.0,),), TypeError, "primals of jet must be a tuple or list"),
        ((0.5,), 1.0, TypeError, "series of jet must be a tuple or list"),
        ((0.5,), ((1.0,), (1.0,)), ValueError, "one series for each argument"),
        ((0.5, 1.0), ((1.0,), (1.0, 2.0)), ValueError, "inconsistent lengths"),
        ((0.5,), (1.0,), TypeError, "tuple or list of terms for each argument"),
        ((np.ones(2),), ((np.ones(3),),), ShapeError, r"shape \(2,\) and a term of shape \(3,\)"),
        ((), (), ValueError, "at least one argument"),
    ],
)
def test_unsuitable_series_raise(primals, series, error, message):
    with pytest.raises(error, match=message):
        jet(lambda *args: args[0], primals, series)


def test_writing_differentiated_value_to_outer_reference_raises():
    ref = new_ref(1.0)

    def fun(x):
        ref[...] = x
        return x

    with pytest.raises(ValueError, match="non-differentiated array reference"):
        jet(fun, (0.5,), ((1.0, 0.0),))


def test_primitive_without_rule_raises():
    with pytest.raises(NotImplementedError, match="nextafter"):
        jet(lambda x: lax.nextafter(x, 1.0), (0.5,), ((1.0,),))
