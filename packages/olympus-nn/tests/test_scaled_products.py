# SPDX-License-Identifier: Apache-2.0
"""Comparison of products in narrow formats with the definitions of the formats in NumPy."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from olympus_autodiff import grad, vjp
from olympus_batching import vmap
from olympus_ir.programs.jit import jit
from olympus_nn import get_scaled_dot_general_config, scaled_dot_general, scaled_matmul

MATRICES = (((1,), (1,)), ((), ()))


def mxfp8(x):
    """Returns the numbers that blocks of 32 elements in MXFP8 represent."""
    result = np.zeros(x.shape)
    for row in np.ndindex(x.shape[:-1]):
        for start in range(0, x.shape[-1], 32):
            block = x[row][start : start + 32]
            largest = float(np.max(np.abs(block)))
            scale = 2.0 ** max(math.ceil(math.log2(largest / 448)) if largest else -127, -127)
            elements = np.clip(block / scale, -448, 448).astype(ml_dtypes.float8_e4m3fn)
            result[row][start : start + 32] = elements.astype(np.float64) * scale
    return result


def nvfp4(x, global_scale=1.0):
    """Returns the numbers that blocks of 16 elements in NVFP4 represent."""
    result = np.zeros(x.shape)
    for row in np.ndindex(x.shape[:-1]):
        for start in range(0, x.shape[-1], 16):
            block = x[row][start : start + 16] / np.float32(global_scale)
            scale = np.clip(np.max(np.abs(block)) / np.float32(6), 0, 448)
            scale = np.float32(scale.astype(ml_dtypes.float8_e4m3fn))
            if scale:
                elements = np.clip(block / scale, -6, 6).astype(ml_dtypes.float4_e2m1fn)
                result[row][start : start + 16] = elements.astype(np.float64) * scale * global_scale
    return result


FORMATS = {"mxfp8": mxfp8, "nvfp4": nvfp4}


def normal(*shape, seed=0, scale=1.0):
    return (scale * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


@pytest.mark.parametrize(
    ("mode", "scale"), [("mxfp8", 1.0), ("mxfp8", 1e-15), ("mxfp8", 1e15), ("nvfp4", 1.0)]
)
def test_product_equals_that_of_rounded_operands(mode, scale):
    x, y = normal(3, 64, scale=scale), normal(5, 64, seed=1)
    y[2, :32] = 0
    configs = [get_scaled_dot_general_config(mode)] * 3
    rounded = FORMATS[mode]
    found = scaled_dot_general(x, y, MATRICES, configs=configs)
    expected = rounded(x) @ rounded(y).T
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * scale**2)
    assert found.dtype == np.float32


def test_global_scales_divide_the_operands():
    x, y = normal(3, 32, scale=1e4), normal(5, 32, seed=1)
    scale = np.array([16.0], np.float32)
    configs = [get_scaled_dot_general_config("nvfp4", scale)] * 3
    found = scaled_dot_general(x, y, MATRICES, configs=configs)
    np.testing.assert_allclose(found, nvfp4(x, 16.0) @ nvfp4(y, 16.0).T, rtol=1e-5)


@pytest.mark.parametrize("mode", FORMATS)
def test_batch_and_contracting_dimensions_with_padding_to_blocks(mode):
    """Sums over any dimensions, and any number of elements."""
    x, y = normal(2, 5, 3, 4, 7), normal(7, 3, 2, 6, seed=1)
    numbers = (((1 + 3, 2), (0, 1)), ((0,), (2,)))
    configs = [get_scaled_dot_general_config(mode)] * 3
    found = scaled_dot_general(x, y, numbers, configs=configs)
    exact = np.einsum("aibjk,kbal->aijl", x, y)
    assert found.shape == exact.shape
    assert np.linalg.norm(found - exact) < 0.2 * np.linalg.norm(exact)
    plain = scaled_dot_general(x, y, numbers)
    np.testing.assert_allclose(plain, exact, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("mode", FORMATS)
def test_gradients_use_quantized_operands_of_mode(mode):
    x, y, ct = normal(32, 64), normal(48, 64, seed=1), normal(32, 48, seed=2)
    configs = [get_scaled_dot_general_config(mode)] * 3
    _, pull = vjp(lambda x, y: scaled_dot_general(x, y, MATRICES, configs=configs), x, y)
    x_cotangent, y_cotangent = pull(ct)
    rounded = mxfp8 if mode == "mxfp8" else (lambda array: array)
    ct_by_n, ct_by_m = rounded(ct), rounded(np.ascontiguousarray(ct.T))
    y_by_n, x_by_m = rounded(np.ascontiguousarray(y.T)), rounded(np.ascontiguousarray(x.T))
    np.testing.assert_allclose(x_cotangent, ct_by_n @ y_by_n.T, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(y_cotangent, ct_by_m @ x_by_m.T, rtol=1e-4, atol=1e-4)


def test_gradient_beyond_the_range_is_zero():
    x, y = np.ones((1, 16), np.float32), np.ones((1, 16), np.float32)
    x[0, 3] = 6 * 448 + 1
    configs = [get_scaled_dot_general_config("nvfp4")] * 3
    found = grad(lambda x: scaled_dot_general(x, y, MATRICES, configs=configs)[0, 0])(x)
    expected = np.ones((1, 16))
    expected[0, 3] = 0
    np.testing.assert_array_equal(found, expected)


def test_composes_with_transformations():
    x, y = normal(4, 3, 32), normal(4, 5, 32, seed=1)
    configs = [get_scaled_dot_general_config("mxfp8")] * 3

    def fun(x, y):
        return scaled_dot_general(x, y, MATRICES, configs=configs)

    batched = (((2,), (2,)), ((0,), (0,)))
    expected = scaled_dot_general(x, y, batched, configs=configs)
    np.testing.assert_allclose(jit(vmap(fun))(x, y), expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, np.float16])
def test_dtype_of_result(dtype):
    x = normal(2, 32).astype(dtype)
    configs = [get_scaled_dot_general_config("mxfp8")] * 3

    def fun(x):
        return scaled_dot_general(x, x, MATRICES, preferred_element_type=dtype, configs=configs)

    assert fun(x).dtype == dtype
    assert grad(lambda x: fun(x)[0, 0])(x).dtype == dtype


def test_scaled_products_equal_the_formula():
    a, b = normal(2, 3, 12), normal(2, 5, 12, seed=1)
    a_scales, b_scales = normal(2, 3, 4, seed=2), normal(2, 5, 4, seed=3)
    expected = np.einsum(
        "bmk,bnk->bmn", a * np.repeat(a_scales, 3, -1), b * np.repeat(b_scales, 3, -1)
    )
    np.testing.assert_allclose(
        scaled_matmul(a, b, a_scales, b_scales), expected, rtol=1e-4, atol=1e-5
    )
    whole = scaled_matmul(a.astype(np.int8), b.astype(np.int8), a_scales, b_scales, np.int32)
    assert whole.dtype == np.int32


def array(*shape):
    return np.ones(shape, np.float32)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        (((3, 8), (4, 8), (3, 2), (4, 2)), "3-dimensional"),
        (((2, 3, 8), (2, 4, 6), (2, 3, 2), (2, 4, 2)), "inputs a and b to have matching batch"),
        (((2, 3, 8), (2, 4, 8), (2, 3, 2), (2, 4, 4)), "scales to have matching batch"),
        (((2, 3, 8), (2, 4, 8), (2, 4, 2), (2, 4, 2)), "match non-contract dimensions"),
        (((2, 3, 8), (2, 4, 8), (2, 3, 3), (2, 4, 3)), "divide the contract dimension"),
    ],
)
def test_mismatched_shapes_raise(shapes, message):
    with pytest.raises(ValueError, match=message):
        scaled_matmul(*(array(*shape) for shape in shapes))


def test_unsuitable_configurations_raise():
    configs = [get_scaled_dot_general_config("mxfp8")] * 3
    with pytest.raises(ValueError, match="Unsupported mode: fp5"):
        get_scaled_dot_general_config("fp5")
    with pytest.raises(ValueError, match="three configurations"):
        scaled_dot_general(array(2, 32), array(2, 32), MATRICES, configs=configs[:1])
    with pytest.raises(TypeError, match="supports preferred_element_type float32, bfloat16"):
        scaled_dot_general(
            array(2, 32), array(2, 32), MATRICES, preferred_element_type=np.int32, configs=configs
        )
