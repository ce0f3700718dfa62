# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import jvp, jvp_olympuspr
from olympus_ir import ShapedArray, lax
from olympus_ir.diagnostics.errors import ConcretizationTypeError
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types import dtypes

ZERO0 = np.zeros((), dtypes.float0)


def square(x):
    return lax.mul(x, x)


def test_value_and_tangent():
    assert jvp(square, (3.0,), (1.0,)) == (9.0, 6.0)


def test_tangents_have_the_structure_of_the_values():
    def f(pair, scale):
        return {"product": lax.mul(lax.mul(pair[0], pair[1]), scale), "first": pair[0]}

    values, tangents = jvp(f, ((2.0, 3.0), 4.0), ((1.0, 0.0), 0.0))
    assert values == {"product": 24.0, "first": 2.0}
    assert tangents == {"product": 12.0, "first": 1.0}


def test_tracer_shows_primal_and_tangent():
    seen = []
    jvp(lambda x: (seen.append(repr(x)), x)[1], (1.0,), (2.0,))
    assert seen == ["JVPTracer(primal=1.0, tangent=2.0)"]


def test_python_control_flow_sees_values():
    def f(x):
        return square(x) if x > 1.0 else x

    f_of_tracer = lambda x: square(x) if bool(lax.gt(x, 1.0)) else x  # noqa: E731
    assert jvp(f_of_tracer, (3.0,), (1.0,)) == (9.0, 6.0)
    assert jvp(f_of_tracer, (0.5,), (1.0,)) == (0.5, 1.0)


def test_results_that_do_not_depend_on_arguments():
    values, tangents = jvp(lambda x: (x, 3, np.ones(2, np.float32)), (1.0,), (1.0,))
    assert values[1] == 3
    assert tangents[1].dtype == dtypes.float0
    np.testing.assert_array_equal(tangents[2], [0, 0])


def test_integer_arguments_have_float0_tangents():
    def f(x, n):
        return lax.mul(x, lax.convert_element_type(n, np.float32)), n

    values, tangents = jvp(f, (2.0, 3), (1.0, ZERO0))
    assert values == (6.0, 3)
    assert tangents[0] == 3.0
    assert tangents[1].dtype == dtypes.float0


def test_auxiliary_results_are_returned_unchanged():
    value, tangent, aux = jvp(lambda x: (square(x), {"x": x}), (3.0,), (1.0,), has_aux=True)
    assert (value, tangent, aux) == (9.0, 6.0, {"x": 3.0})


def test_nested_derivatives_are_not_confused():
    def derivative(f):
        return lambda x: jvp(f, (x,), (1.0,))[1]

    assert derivative(derivative(lambda x: lax.integer_pow(x, 3)))(2.0) == 12.0
    # An inner derivative does not mix with an outer one.
    confused = derivative(lambda x: lax.mul(x, derivative(lambda y: lax.add(x, y))(2.0)))
    assert confused(1.0) == 1.0


def test_no_tangent_is_computed_for_constants():
    closed = trace_to_closed(
        lambda x: jvp(lambda x: lax.add(lax.sin(lax.stop_gradient(x)), x), (x,), (x,)),
        [ShapedArray((), np.float32)],
    )
    assert [equation.primitive.name for equation in closed.eqns] == ["stop_gradient", "sin", "add"]


@pytest.mark.parametrize(
    "primals, tangents, error, message",
    [
        (1.0, 1.0, TypeError, "must be tuples or lists; found float and float"),
        ((1.0,), (1,), TypeError, "expected tangent dtype float32, but got tangent dtype int32"),
        ((1,), (1.0,), TypeError, "the tangent dtype must be float0"),
        ((1.0,), (np.ones(3, np.float32),), ValueError, r"shape \(\) and tangent shape \(3,\)"),
        ((1.0,), ((1.0,),), TypeError, "must have the same tree structure"),
        (("a",), ("a",), TypeError, "not a valid"),
    ],
)
def test_invalid_arguments_raise(primals, tangents, error, message):
    with pytest.raises(error, match=message):
        jvp(square, primals, tangents)


def test_not_a_function():
    with pytest.raises(TypeError, match="Expected a callable value, got 3"):
        jvp(3, (1.0,), (1.0,))


def test_results_must_be_arrays():
    with pytest.raises(TypeError, match="not a valid"):
        jvp(lambda x: "no array", (1.0,), (1.0,))


def test_programs_of_tangents_omit_zeros():
    f32 = ShapedArray((), np.float32)
    closed = trace_to_closed(lambda x, y: [lax.mul(x, y), lax.sin(y)], [f32, f32])
    derived, nonzero = jvp_olympuspr(closed, (True, False))
    assert nonzero == (True, False)
    assert str(derived) == (
        "{ lambda ; a:f32[] b:f32[] c:f32[]. let\n"
        "    d:f32[] = mul a b\n"
        "    e:f32[] = mul c b\n"
        "    f:f32[] = sin b\n"
        "  in (d, f, e) }"
    )
    assert jvp_olympuspr(closed, (True, False))[0] is derived
    assert jvp_olympuspr(closed, (True, False), True)[1] == (True, True)


@pytest.mark.parametrize("convert", [float, complex])
def test_conversion_of_tracers_to_python_numbers_raises(convert):
    # What is computed from them would have no derivative, without a word.
    with pytest.raises(ConcretizationTypeError, match=f"{convert.__name__}\\(\\) was called"):
        jvp(lambda x: x * convert(x), (1.0,), (1.0,))


def test_second_derivative_of_atanh_at_infinity():
    def first(x):
        return jvp(lax.atanh, (x,), (1.0,))[1]

    for x in (np.inf, -np.inf):
        assert float(jvp(first, (x,), (1.0,))[1]) == 0.0
    assert np.allclose(jvp(first, (0.5,), (1.0,))[1], 2 * 0.5 / (1 - 0.25) ** 2)
