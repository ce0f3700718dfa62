# SPDX-License-Identifier: Apache-2.0
"""Programs of operations that compile differently by platform, or by name."""

from __future__ import annotations

import re

import ml_dtypes
import numpy as np
import pytest

from olympus_ir import ShapeDtypeStruct, lax
from olympus_xla.calls.jit import jit

X = np.ones((3, 4), np.float32)


def text_for(fun, *args, platforms=("cpu",)):
    lowered = jit(fun).lower(*args, lowering_platforms=platforms)
    assert lowered.compiler_ir().operation.verify()
    return lowered.as_text()


# ---- platform_dependent ----


def by_platform(x):
    return lax.platform_dependent(x, cpu=lax.sin, cuda=lax.cos, default=lax.tanh)


@pytest.mark.parametrize(
    ("platform", "operation"), [("cpu", "sine"), ("cuda", "cosine"), ("tpu", "tanh")]
)
def test_only_branch_of_platform_is_compiled(platform, operation):
    text = text_for(by_platform, X, platforms=(platform,))
    found = set(re.findall(r"stablehlo\.(sine|cosine|tanh)", text))
    assert found == {operation}
    assert "case" not in text


def test_for_several_platforms_each_has_its_branch():
    text = text_for(by_platform, X, platforms=("cpu", "cuda", "tpu"))
    assert all(name in text for name in ("stablehlo.sine", "stablehlo.cosine", "stablehlo.tanh"))
    assert "stablehlo.case" in text


def test_the_platform_chooses_when_it_runs():
    np.testing.assert_allclose(by_platform(X), np.sin(X), rtol=1e-6)
    np.testing.assert_allclose(jit(by_platform)(X), np.sin(X), rtol=1e-6)


def test_no_function_for_the_platform():
    with pytest.raises(NotImplementedError, match=r"not found for platform cpu.*\['tpu'\]"):
        jit(lambda x: lax.platform_dependent(x, tpu=lax.sin))(X)


@pytest.mark.parametrize(
    ("functions", "error", "message"),
    [
        ({"gpu": lax.sin}, ValueError, "Use 'cuda' or 'rocm'"),
        ({"cpu": 3}, TypeError, "the 'cpu' branch must be a callable"),
        ({"default": 3}, TypeError, "the 'default' branch must be a callable"),
        ({}, TypeError, "at least 1 function"),
    ],
)
def test_invalid_platform_functions_raise(functions, error, message):
    with pytest.raises(error, match=message):
        lax.platform_dependent(X, **functions)


# ---- products by an algorithm ----


def product(precision, dtype=np.float32, result=None, platform="cpu"):
    x = np.ones((2, 2), dtype)
    return text_for(
        lambda x: lax.dot(x, x, precision=precision, preferred_element_type=result),
        x,
        platforms=(platform,),
    )


def test_algorithm_converts_operands_and_result():
    text = product("BF16_BF16_F32", np.float16)
    assert re.search(r"convert .*f16>\) -> tensor<2x2xbf16>", text)
    assert re.search(r"dot_general.*bf16>\) -> tensor<2x2xf32>", text)
    assert re.search(r"convert .*f32>\) -> tensor<2x2xf16>", text)
    assert "num_primitive_operations = 1" in text


def test_algorithms_of_products_become_attributes():
    assert "num_primitive_operations = 6" in product("BF16_BF16_F32_X6")
    assert "lhs_precision_type = tf32" in product("TF32_TF32_F32", platform="cuda")


def test_an_algorithm_spelled_out():
    algorithm = lax.DotAlgorithm("bfloat16", "bfloat16", "float32")
    text = product(algorithm, platform="cuda")
    assert "lhs_precision_type = bf16" in text
    assert "accumulation_type = f32" in text


def test_algorithms_for_operands_of_eight_bits():
    text = product("ANY_F8_ANY_F8_F32_FAST_ACCUM", ml_dtypes.float8_e4m3fn, "float32", "cuda")
    assert "allow_imprecise_accumulation = true" in text
    with pytest.raises(ValueError, match="requires both inputs to have float8 dtypes"):
        product("ANY_F8_ANY_F8_F32", platform="cuda")


def test_algorithms_unsupported_on_cpu_raise():
    with pytest.raises(ValueError, match="'TF32_TF32_F32' is not supported by dot_general on CPU"):
        product("TF32_TF32_F32")


def test_products_by_algorithms_equal_numpy():
    x = np.arange(4, dtype=np.float32).reshape(2, 2)
    for precision in ("F32_F32_F32", "BF16_BF16_F32", "BF16_BF16_F32_X3", "F64_F64_F64", "DEFAULT"):
        np.testing.assert_allclose(lax.dot(x, x, precision=precision), x @ x, rtol=1e-2)


# ---- composites ----


def test_a_composite_is_one_operation_with_attributes():
    def fun(x):
        attributes = {
            "a": 1,
            "b": 0.5,
            "c": "s",
            "d": [True, {"e": np.float32(2)}],
            "f": np.ones(3),
        }
        return lax.composite(lambda x, **attributes: lax.sin(x), "my.sin", 2)(x, **attributes)

    text = text_for(fun, X)
    assert 'stablehlo.composite "my.sin"' in text
    assert "version = 2" in text
    for written in ("a = 1 : i64", "b = 5.000000e-01 : f64", 'c = "s"', "[true, {e = 2.0", "xf64>"):
        assert written in text
    np.testing.assert_allclose(jit(fun)(X), np.sin(X), rtol=1e-6)


def test_attributes_that_cannot_be_written():
    def fun(x):
        return lax.composite(lambda x, a: x, "my.same")(x, a=object())

    with pytest.raises(TypeError, match="composite: the attribute .* of type object"):
        jit(fun)(X)


def test_composite_for_several_platforms_is_its_decomposition():
    text = text_for(lambda x: lax.composite(lax.sin, "my.sin")(x), X, platforms=("cpu", "cuda"))
    assert "composite" not in text
    assert "stablehlo.sine" in text


# ---- tokens and sinks ----


def test_tokens_are_values_of_programs():
    def fun(x):
        token = lax.after_all(lax.create_token(), lax.create_token())
        lax.dce_sink(token)
        return x

    text = text_for(fun, X)
    assert text.count("stablehlo.create_token") == 2
    assert text.count("stablehlo.after_all") == 1
    assert isinstance(lax.after_all(lax.create_token()), lax.Token)


def test_dce_sink_keeps_unused_values():
    def fun(x, prevent):
        lax.dce_sink(lax.sin(x), prevent_mlir_dce=prevent)
        return x

    assert "dce_sink" in text_for(lambda x: fun(x, True), X)
    assert "dce_sink" not in text_for(lambda x: fun(x, False), X)


@pytest.mark.parametrize(
    "dtype", ["float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "float8_e8m0fnu"]
)
def test_powers_of_two_in_few_bits_are_exact(dtype):
    x = np.array([0.5, 1, 2, 4], np.float32).astype(getattr(ml_dtypes, dtype, dtype))
    expected = np.exp2(x.astype(np.float32)).astype(x.dtype)
    result = np.asarray(jit(lax.exp2)(x))
    np.testing.assert_array_equal(result.astype(np.float32), expected.astype(np.float32))


@pytest.mark.parametrize("shape", [(4,), (3, 4), (2, 3, 4)])
@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_real_parts_of_complex_products(shape, dtype):
    generator = np.random.default_rng(0)
    parts = generator.integers(-4, 5, (4, *shape)).astype(np.float32)
    x, y = parts[0] + 1j * parts[1], parts[2] + 1j * parts[3]
    numbers = ((range(len(shape)),) * 2, ((), ()))
    result = jit(lambda x, y: lax.dot_general(x, y, numbers, preferred_element_type=dtype))(x, y)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, np.sum(x * y).real.astype(dtype))


@pytest.mark.parametrize("function", [lax.exp, lax.exp2, lax.log, lax.tanh, lax.rsqrt])
def test_accuracy_of_results(function):
    tolerance = lax.Tolerance(1e-3, 0.0, 2)
    text = jit(lambda x: function(x, accuracy=tolerance)).lower(1.0).as_text()
    assert "ulps = 2" in text and "TOLERANCE" in text
    with pytest.raises(NotImplementedError, match="Accuracy fast not supported"):
        jit(lambda x: function(x, accuracy="fast")).lower(1.0)


def test_sorts_have_the_order_that_xla_recognizes():
    # For this order of floats XLA calls a radix sort on GPUs: both comparisons that look for zeros
    # and NaNs take the numbers themselves.
    kind = ShapeDtypeStruct((8,), np.float32)
    text = jit(lambda x: lax.sort(x)).trace(kind).lower(lowering_platforms=("cuda",)).as_text()
    for number in ("%arg1", "%arg2"):
        assert f"stablehlo.compare NE, {number}, {number}" in text
        assert re.search(rf"stablehlo.compare EQ, {number}, %cst\S*, FLOAT", text)


def test_first_program_loads_no_transformations(run_python):
    code = """
import sys
from olympus_ir import lax
from olympus_xla import jit
print(float(jit(lambda x: lax.add(lax.exp(x), x))(0.0)))
print({name.partition(".")[0] for name in sys.modules} & {"olympus_autodiff", "olympus_batching"})
"""
    assert run_python(code).split() == ["1.0", "set()"]
