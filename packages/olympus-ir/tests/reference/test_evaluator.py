# SPDX-License-Identifier: Apache-2.0
"""The reference evaluator: operands, expansions, errors, and functions it compiles."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_ir import Primitive, ShapedArray, lax, trace_to_olympuspr
from olympus_ir.diagnostics.errors import (
    MissingRuleError,
    TracerBoolConversionError,
    UnexpectedTracerError,
)
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.reference import ReferenceArray, reference_evaluator, reference_rules
from olympus_ir.reference.tables import array_rules, takes_arrays
from olympus_ir.settings import config

F32 = ShapedArray((), np.float32)


def evaluate(primitive, *args, **params):
    return reference_evaluator.evaluate(primitive, args, params)


def new_primitive(name, multiple_results=False):
    primitive = Primitive.declare(name, multiple_results=multiple_results)
    primitive.def_abstract_eval(lambda x: [x, x] if multiple_results else x)
    return primitive


def test_operands_are_made_arrays():
    result = evaluate(lax.add_p, np.ones(2), 1.0)
    assert isinstance(result, ReferenceArray)
    assert (result.dtype, result.tolist()) == (np.float32, [2, 2])
    with config.enable_x64(True):
        assert evaluate(lax.neg_p, np.ones(2)).dtype == np.float64


def test_objects_with_array_protocol():
    class Wrapper:
        def __olympus_array__(self):
            return np.float32(3)

    assert float(evaluate(lax.neg_p, Wrapper())) == -3


def test_invalid_operands_raise():
    with pytest.raises(TypeError, match=r"type <class 'str'> and was passed to add at position 1"):
        evaluate(lax.add_p, 1.0, "a")


def test_escaped_tracers_raise():
    leaked = []
    trace_to_olympuspr(lambda x: leaked.append(x) or [x], [F32])
    with pytest.raises(UnexpectedTracerError, match="was passed to `neg`"):
        evaluate(lax.neg_p, leaked[0])


def test_missing_rule_error_names_file():
    with pytest.raises(MissingRuleError, match="`unruled` has no reference rule"):
        evaluate(new_primitive("unruled"), 1.0)


def test_expansions_replace_missing_rules():
    primitive = new_primitive("negated_square")
    expansion_rules.define(primitive, lambda x: lax.neg(lax.mul(x, x)))
    try:
        assert float(evaluate(primitive, 3.0)) == -9
    finally:
        expansion_rules.pop(primitive)


def test_implementations_of_third_parties():
    primitive = new_primitive("doubled")
    primitive.def_impl(lambda x: np.asarray(x) * 2)
    assert float(evaluate(primitive, np.float32(3))) == 6


def test_rules_that_take_arrays():
    primitive = new_primitive("twice", multiple_results=True)

    @reference_rules.define(primitive)
    @takes_arrays
    def rule(x):
        assert isinstance(x, ReferenceArray)
        return [lax.neg(x), 2.0]

    try:
        first, second = evaluate(primitive, 3.0)
        assert (float(first), float(second)) == (-3, 2)
        assert isinstance(second, ReferenceArray)
    finally:
        reference_rules.pop(primitive)
        array_rules.discard(rule)


@pytest.mark.parametrize("shape", [(2,), ()])
def test_rules_are_checked_against_shape_rules(shape):
    primitive = new_primitive("wrong")
    dtype = np.float32 if shape else np.float64
    reference_rules.define(primitive, lambda x: np.zeros(shape, dtype))
    try:
        with pytest.raises(AssertionError, match="the reference rule of wrong returned"):
            evaluate(primitive, 1.0)
    finally:
        reference_rules.pop(primitive)


def test_debug_nans_and_debug_infs():
    assert np.isnan(float(evaluate(lax.log_p, -1.0, accuracy=None)))
    with config.debug_nans(True), pytest.raises(FloatingPointError, match=r"nan.* in log"):
        evaluate(lax.log_p, -1.0, accuracy=None)
    with config.debug_infs(True), pytest.raises(FloatingPointError, match=r"inf.* in log"):
        evaluate(lax.log_p, 0.0, accuracy=None)


# ---- jit ----


def test_jit_traces_once_for_operands_of_one_type():
    calls = []

    def f(x, y):
        calls.append(x)
        return lax.mul(x, y)

    jitted = reference_evaluator.jit(f)
    assert jitted.__name__ == "f"
    assert float(jitted(2.0, 3.0)) == float(jitted(3.0, 2.0)) == 6
    assert len(calls) == 1
    jitted(np.ones(2, np.float32), 3.0)
    assert len(calls) == 2


def test_jit_gives_arrays_and_keeps_structures():
    jitted = reference_evaluator.jit(lambda x: {"same": x, "constant": 2, "array": np.ones(2)})
    result = jitted(3.0)
    assert all(isinstance(leaf, ReferenceArray) for leaf in result.values())
    assert (result["same"].weak_type, result["constant"].dtype) == (True, np.int32)


def test_jit_with_static_arguments():
    jitted = reference_evaluator.jit(lambda x, n: lax.integer_pow(x, n), static_argnums=1)
    assert float(jitted(2.0, 3)) == 8
    with pytest.raises(ValueError, match="Non-hashable static arguments"):
        jitted(2.0, [3])


def test_jit_traces_abstract_values():
    with pytest.raises(TracerBoolConversionError, match="argument x"):
        reference_evaluator.jit(lambda x: 1 if x else 2)(3.0)


def test_disabled_jit_calls_the_function():
    jitted = reference_evaluator.jit(lambda x: 1 if x else 2)
    with config.disable_jit():
        assert jitted(3.0) == 1


def test_jit_in_a_trace_is_an_equation():
    jitted = reference_evaluator.jit(lax.neg)
    olympuspr, _ = trace_to_olympuspr(lambda x: [jitted(x)], [F32])
    assert [equation.primitive.name for equation in olympuspr.eqns] == ["jit"]


def test_inlined_functions_leave_no_call():
    jitted = reference_evaluator.jit(lax.neg, inline=True)
    olympuspr, _ = trace_to_olympuspr(lambda x: [jitted(x)], [F32])
    assert [equation.primitive.name for equation in olympuspr.eqns] == ["neg"]
