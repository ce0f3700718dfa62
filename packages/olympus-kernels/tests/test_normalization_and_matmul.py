# SPDX-License-Identifier: Apache-2.0
"""Comparison of ready-made kernels with formulas in double precision and finite differences."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import grad
from olympus_kernels.gpu import attention, layer_norm, rms_norm, softmax
from olympus_kernels.tpu import matmul
from olympus_pallas import tpu
from olympus_xla import jit

F32 = np.dtype(np.float32)


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def difference(function, x, direction, step=1e-5):
    """Returns the derivative of a function of doubles along a direction."""
    return (function(x + step * direction) - function(x - step * direction)) / (2 * step)


def lowered(function, *arguments):
    traced = jit(function).trace(*arguments)
    return traced.lower(lowering_platforms=("cuda",)).as_text()


# ---- rows ----


def test_softmax_agrees_with_its_definition(rng):
    x = rng.normal(size=(3, 5, 37)).astype(F32)
    expected = np.exp(x.astype(float))
    expected /= expected.sum(-1, keepdims=True)
    np.testing.assert_allclose(softmax.softmax(x, interpret=True), expected, rtol=1e-5)
    with pytest.raises(NotImplementedError, match="along the last dimension"):
        softmax.softmax(x, axis=1, interpret=True)
    assert "gpu.triton" in lowered(softmax.softmax, x)


def normalized(x, weight, bias, centered, eps=1e-5):
    if centered:
        x = x - x.mean(-1, keepdims=True)
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight + bias


@pytest.mark.parametrize("backward", ["triton", "xla"])
@pytest.mark.parametrize("centered", [True, False])
def test_normalizations_agree_with_array_operations(rng, centered, backward):
    function = layer_norm.layer_norm if centered else rms_norm.rms_norm
    reference = layer_norm.layer_norm_reference if centered else rms_norm.rms_norm_reference
    values = [rng.normal(size=shape) for shape in ((3, 2, 37), (37,), (37,))]
    single = [value.astype(F32) for value in values]
    expected = normalized(*values, centered)
    np.testing.assert_allclose(function(*single, interpret=True), expected, atol=1e-5)
    np.testing.assert_allclose(reference(*single), expected, atol=1e-5)

    def loss(x, weight, bias):
        result = function(x, weight, bias, interpret=True, backward_pass_impl=backward)
        return jnp.sum(jnp.sin(result))

    gradients = grad(loss, argnums=(0, 1, 2))(*single)
    for place, gradient in enumerate(gradients):

        def changed(value, place=place):
            given = [*values[:place], value, *values[place + 1 :]]
            return np.sin(normalized(*given, centered)).sum()

        direction = rng.normal(size=values[place].shape)
        slope = difference(changed, values[place], direction)
        np.testing.assert_allclose(np.sum(gradient * direction), slope, atol=1e-3)
    with pytest.raises(ValueError, match="backward_pass_impl must be 'triton' or 'xla'"):
        grad(lambda x: function(x, *single[1:], backward_pass_impl="a", interpret=True).sum())(
            single[0]
        )
    assert "gpu.triton" in lowered(grad(lambda x: function(x, *single[1:]).sum()), single[0])


# ---- attention ----


def attended(q, k, v, segments, scale, causal):
    scores = np.einsum("bqhd,bkhd->bhqk", q, k) * scale
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if segments is not None:
        same = segments[:, :, None] == segments[:, None, :]
        scores = np.where(same[:, None], scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return np.einsum("bhqk,bkhd->bqhd", weights / weights.sum(-1, keepdims=True), v)


SIZES = attention.BlockSizes(16, 32, 32, 16, 16, 32)


@pytest.mark.thorough("True-False", "False-True")
@pytest.mark.parametrize("has_segments", [True, False])
@pytest.mark.parametrize("causal", [True, False])
def test_attention_agrees_with_array_operations(rng, causal, has_segments):
    batch, length, heads, depth = 2, 37, 2, 24
    values = [rng.normal(size=(batch, length, heads, depth)) for _ in "qkv"]
    single = [value.astype(F32) for value in values]
    segments = np.arange(length) // 12 * np.ones((batch, 1), np.int32) if has_segments else None
    segments = None if segments is None else segments.astype(np.int32)
    expected = attended(*values, segments, 0.3, causal)

    def attend(q, k, v, **options):
        options = {"block_sizes": SIZES, "interpret": True, **options}
        return attention.mha(q, k, v, segments, 0.3, causal, **options)

    np.testing.assert_allclose(attend(*single), expected, atol=1e-5)
    reference = attention.mha_reference(*single, segments, 0.3, causal)
    np.testing.assert_allclose(reference, expected, atol=1e-5)
    for backward in ("triton", "xla"):
        gradients = grad(
            lambda *args, backward=backward: jnp.sum(
                jnp.sin(attend(*args, backward_pass_impl=backward))
            ),
            argnums=(0, 1, 2),
        )(*single)
        for place, gradient in enumerate(gradients):

            def changed(value, place=place):
                given = [*values[:place], value, *values[place + 1 :]]
                return np.sin(attended(*given, segments, 0.3, causal)).sum()

            direction = rng.normal(size=values[place].shape)
            slope = difference(changed, values[place], direction)
            np.testing.assert_allclose(np.sum(gradient * direction), slope, rtol=1e-3, atol=1e-3)


def test_attention_with_different_query_and_key_lengths(rng):
    q, k, v = (rng.normal(size=(1, size, 1, 16)).astype(F32) for size in (20, 50, 50))
    result, sums = attention.mha(
        q, k, v, None, block_sizes=SIZES, interpret=True, return_residuals=True
    )
    np.testing.assert_allclose(result, attended(q, k, v, None, 1, False), atol=1e-5)
    scores = np.einsum("bqhd,bkhd->bhqk", q, k).astype(float)
    np.testing.assert_allclose(sums, np.log(np.exp(scores).sum(-1)), rtol=1e-5)


def test_invalid_attention_options_raise():
    x = np.ones((1, 16, 1, 16), F32)

    def slope(**options):
        return grad(lambda x: attention.mha(x, x, x, None, interpret=True, **options).sum())(x)

    with pytest.raises(ValueError, match="Backward block sizes must all be set"):
        slope(block_sizes=attention.BlockSizes(16, 16))
    with pytest.raises(ValueError, match="backward_pass_impl must be 'triton' or 'xla'"):
        slope(backward_pass_impl="b")
    half = np.ones((1, 64, 1, 64), np.float16)
    text = lowered(grad(lambda x: attention.mha(x, x, x, None, causal=True).sum()), half)
    assert text.count("gpu.triton") >= 2


# ---- products ----


def test_products_agree_with_numpy(rng):
    x, y = rng.normal(size=(64, 64)).astype(F32), rng.normal(size=(64, 32)).astype(F32)
    with tpu.force_tpu_interpret_mode():
        product = matmul.matmul(x, y, block_shape=(32, 16), block_k=16)
        counts = matmul.matmul(
            np.ones((8, 8), np.int8), np.ones((8, 8), np.int8), block_shape=(8, 8), block_k=8
        )
    np.testing.assert_allclose(product, x @ y, atol=1e-4)
    assert (counts.dtype, counts[0, 0]) == (np.int8, 8)
    with pytest.raises(ValueError, match="not made of whole blocks"):
        matmul.matmul(x, y, block_shape=(48, 16), block_k=16)
    with pytest.raises(ValueError, match="have no product"):
        matmul.matmul(x, x[:5], block_shape=(8, 8))
    with pytest.raises(TypeError, match="must have the same dtype"):
        matmul.matmul(x, y.astype(np.float16), block_shape=(8, 8))
