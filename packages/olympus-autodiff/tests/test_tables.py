# SPDX-License-Identifier: Apache-2.0
"""Rules of somebody else's primitives, by the same tables and combinators as ours."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import grad, jvp, jvp_rules, transpose_rules, vjp
from olympus_autodiff.tables import (
    from_output,
    linear,
    partials,
    unary_transpose,
    unbroadcast,
    zero_derivative,
)
from olympus_ir import Primitive, lax
from olympus_ir.diagnostics.errors import MissingRuleError
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.settings import config


def elementwise_primitive(name, implementation):
    primitive = Primitive(name)
    primitive.def_impl(implementation)
    primitive.def_abstract_eval(lambda x, *others: x)
    return primitive


@pytest.fixture
def cleared():
    """Takes back the rules that a test has given."""
    before = [(table, dict(table.rules)) for table in (jvp_rules, transpose_rules, expansion_rules)]
    yield
    for table, rules in before:
        # The rules of a family of the instruction set are imported once: they stay.
        for primitive in [each for each in table.rules if each not in rules and not each.family]:
            del table.rules[primitive]
        table.rules.update(rules)


def test_function_of_one_operand(cleared):
    cube_p = elementwise_primitive("cube", lambda x: lax.integer_pow(x, 3))
    with pytest.raises(MissingRuleError, match="`cube` has no jvp rule"):
        grad(cube_p.bind)(2.0)
    jvp_rules.define(cube_p, from_output(lambda t, y, x: lax.mul(lax.mul(t, 3.0), lax.mul(x, x))))
    assert grad(cube_p.bind)(2.0) == 12.0
    assert jvp(cube_p.bind, (2.0,), (1.0,)) == (8.0, 12.0)
    with pytest.raises(ValueError, match="has a jvp rule already"):
        jvp_rules.define(cube_p, zero_derivative)


def test_function_of_two_operands(cleared):
    product_p = elementwise_primitive("product", lambda x, y: lax.mul(x, y))
    jvp_rules.define(
        product_p,
        partials(lambda t, z, x, y: lax.mul(t, y), lambda t, z, x, y: lax.mul(x, t)),
    )
    assert grad(product_p.bind, argnums=(0, 1))(2.0, 3.0) == (3.0, 2.0)
    assert jvp(lambda x: product_p.bind(x, 3.0), (2.0,), (1.0,)) == (6.0, 3.0)
    smooth_in_first_p = elementwise_primitive("smooth_in_first", lambda x, y: lax.add(x, y))
    jvp_rules.define(smooth_in_first_p, partials(lambda t, z, x, y: t, None))
    assert grad(smooth_in_first_p.bind, argnums=(0, 1))(2.0, 3.0) == (1.0, 0.0)


def test_linear_functions_need_one_line(cleared):
    double_p = elementwise_primitive("double", lambda x: lax.mul(x, 2.0))
    double_p.linear_in = True
    jvp_rules.define(double_p, linear)
    with pytest.raises(MissingRuleError, match="`double` has no transpose rule"):
        grad(double_p.bind)(1.0)
    transpose_rules.define(double_p, unary_transpose(lambda ct, aval: double_p.bind(ct)))
    assert grad(double_p.bind)(1.0) == 2.0


def test_step_functions_have_zero_derivatives(cleared):
    step_p = elementwise_primitive("step", lambda x: lax.floor(x))
    jvp_rules.define(step_p, zero_derivative)
    assert grad(step_p.bind)(1.5) == 0.0
    assert jvp(step_p.bind, (1.5,), (1.0,)) == (1.0, 0.0)


def test_expansions_are_differentiated(cleared):
    square_sine_p = elementwise_primitive("square_sine", None)
    expansion_rules.define(square_sine_p, lambda x: lax.square(lax.sin(x)))
    expected = 2 * np.sin(0.5) * np.cos(0.5)
    np.testing.assert_allclose(grad(square_sine_p.bind)(0.5), expected, rtol=1e-6)
    np.testing.assert_allclose(jvp(square_sine_p.bind, (0.5,), (1.0,))[1], expected, rtol=1e-6)


def test_missing_rule_error_gives_reason_of_exemption(cleared):
    odd_p = elementwise_primitive("odd", lambda x: x)
    jvp_rules.exempt(odd_p, reason="it is odd")
    with pytest.raises(MissingRuleError, match="`odd` has no jvp rule: it is odd"):
        grad(odd_p.bind)(1.0)
    del jvp_rules.exemptions[odd_p]


def test_cotangents_of_broadcast_operands():
    ct = np.ones((2, 3), np.float32)
    assert unbroadcast(ct, np.float32(1)) == 6.0
    np.testing.assert_array_equal(unbroadcast(ct, np.ones((1, 3), np.float32)), [[2, 2, 2]])
    np.testing.assert_array_equal(unbroadcast(ct, np.ones((2, 1), np.float32)), [[3], [3]])
    assert unbroadcast(ct, ct) is ct


def test_no_false_leak_reports():
    with config.checking_leaks():
        assert grad(lambda x: lax.mul(x, lax.sin(x)))(0.0) == 0.0
        assert vjp(lambda x: lax.mul(x, x), 3.0)[1](1.0) == (6.0,)


def test_rules_return_none_for_tangents_of_integers_only():
    def primitive_of(dtype):
        primitive = Primitive(f"rounded_to_{dtype}")
        primitive.def_impl(lambda x: lax.convert_element_type(x, dtype))
        primitive.def_abstract_eval(lambda aval: aval.update(dtype=np.dtype(dtype)))
        jvp_rules.define(primitive)(lambda primals, tangents: (primitive.bind(*primals), None))
        return primitive

    position = primitive_of("int32")
    values = np.array([3.0, 5.0], np.float32)
    gradient = grad(lambda x: lax.mul(x, lax.convert_element_type(position.bind(x), x.dtype)))
    assert [gradient(value) for value in values] == [3, 5]
    with pytest.raises(TypeError, match="None for the tangent of a result of type float16"):
        grad(primitive_of("float16").bind)(values[0])


def test_operand_type_errors_precede_missing_rule_errors() -> None:
    with pytest.raises(TypeError, match="does not accept dtype float32"):
        jvp(lambda x: lax.bitwise_and(x, x), (np.float32(1),), (np.float32(1),))
