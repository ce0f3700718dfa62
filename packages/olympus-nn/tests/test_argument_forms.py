# SPDX-License-Identifier: Apache-2.0
"""Arguments other than arrays of floats of full rank: scalars, missing dimensions, other dtypes."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import olympus_nn
from olympus_autodiff import grad
from olympus_ir.diagnostics.errors import ConcretizationTypeError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import eval_shape
from olympus_nn import initializers
from olympus_numpy.numerics.log_sums import logsumexp
from olympus_random import key

RNG = np.random.default_rng(0)
QUERY, KEY, VALUE = (RNG.normal(size=(2, 5, 4, 8)).astype(np.float32) for _ in range(3))


def attention(bias=0.0, mask=True, window=None, rows=(5, 5)):
    """Computes attention in double precision."""
    logits = np.einsum("btnh,bsnh->bnts", *np.float64([QUERY, KEY])) / np.sqrt(8) + bias
    position = np.arange(5)
    if window is not None:
        left, right = window
        distance = position[:, None] - position[None, :]
        mask = mask & (distance <= left) & (-distance <= right)
    logits = np.where(mask, logits, -1e30)
    weights = np.exp(logits - logits.max(-1, keepdims=True))
    out = np.einsum("bnts,bsnh->btnh", weights / weights.sum(-1, keepdims=True), VALUE)
    return np.where(position[None, :, None, None] < np.array(rows)[:, None, None, None], out, 0)


def test_bias_and_mask_of_fewer_axes():
    bias = RNG.normal(size=(5, 5)).astype(np.float32)
    mask = np.tril(np.ones((5, 5), bool))
    found = olympus_nn.dot_product_attention(QUERY, KEY, VALUE, bias=bias, mask=mask)
    np.testing.assert_allclose(found, attention(bias, mask), rtol=2e-4, atol=1e-5)


def test_attention_accepts_lists():
    found = olympus_nn.dot_product_attention(
        QUERY, KEY, VALUE, query_seq_lengths=[2, 5], local_window_size=[1, 2]
    )
    expected = attention(window=(1, 2), rows=(2, 5))
    np.testing.assert_allclose(found, expected, rtol=2e-4, atol=1e-5)
    found = olympus_nn.dot_product_attention(QUERY.tolist(), KEY.tolist(), VALUE.tolist())
    np.testing.assert_allclose(found, attention(), rtol=2e-4, atol=1e-5)


def test_attention_in_half_precision():
    halves = (x.astype(np.float16) for x in (QUERY, KEY, VALUE))
    found = olympus_nn.dot_product_attention(*halves)
    assert found.dtype == np.float16
    np.testing.assert_allclose(found, attention(), rtol=1e-2, atol=5e-3)


def test_one_hot_of_lists_and_floats():
    np.testing.assert_array_equal(olympus_nn.one_hot([2, 0], 3), np.eye(3)[[2, 0]])
    with pytest.warns(
        DeprecationWarning, match="one_hot input should be integer-typed; got dtype=float32"
    ):
        found = olympus_nn.one_hot(np.array([1.0, 0.0], np.float32), 2)
    np.testing.assert_array_equal(found, np.eye(2)[[1, 0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        olympus_nn.one_hot(np.array([1], np.uint8), 2)


def test_axes_out_of_bounds():
    with pytest.raises(ValueError, match="axis 4 is out of bounds for array of dimension 2"):
        logsumexp(np.ones((2, 3), np.float32), axis=4)
    with pytest.raises(ValueError, match="out of bounds"):
        olympus_nn.softmax(np.ones(3, np.float32), axis=(0, 1))


def test_wide_weights_are_narrowed_with_warning():
    for make in (initializers.zeros, initializers.normal(), initializers.he_uniform()):
        with pytest.warns(UserWarning, match="float64"):
            assert make(key(0), (2, 2), np.float64).dtype == np.float32


def test_delta_orthogonal_centre_equals_orthogonal():
    weights = initializers.delta_orthogonal(scale=2.0)(key(1), (3, 2, 5))
    np.testing.assert_array_equal(weights[1], initializers.orthogonal(2.0)(key(1), (2, 5)))


@pytest.mark.parametrize("approximate", [True, False])
def test_gelu_of_python_numbers_while_tracing(approximate):
    aval = eval_shape(lambda: olympus_nn.gelu(1, approximate=approximate))
    assert (aval.shape, aval.dtype) == ((), np.float32)


def test_weak_type_of_softplus_derivatives():
    assert grad(olympus_nn.softplus)(1.0).weak_type
    assert not grad(olympus_nn.softplus)(np.float32(1)).weak_type


def test_traced_num_classes_raises():
    with pytest.raises(ConcretizationTypeError, match="one_hot argument `num_classes`"):
        jit(olympus_nn.one_hot)(3, 5)


def test_numbers_of_classes_must_be_integers():
    with pytest.raises(TypeError, match=r"one_hot: num_classes must be an integer, got 3\.5"):
        olympus_nn.one_hot(np.array([1], np.int32), 3.5)
