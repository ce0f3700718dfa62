# SPDX-License-Identifier: Apache-2.0
"""Effects of the configuration: strict promotion of dtypes, treatment of unequal ranks."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_ir import make_olympuspr
from olympus_ir.diagnostics.errors import TypePromotionError
from olympus_ir.settings import config

INTEGERS, FLOATS = np.arange(3, dtype=np.int32), np.ones(3, np.float32)

MIXED = [
    lambda x: x + 1.5,
    lambda x: x + FLOATS,
    lambda x: jnp.add(x, True),
    lambda x: x**2.0,
    lambda x: x < 1.5,
    lambda x: x == FLOATS,
    lambda x: jnp.where(x > 1, x, 1.5),
    lambda x: jnp.concatenate([x, FLOATS]),
    lambda x: jnp.stack([x, FLOATS]),
    lambda x: jnp.matmul(x, FLOATS),
    lambda x: jnp.maximum(x, FLOATS),
    lambda x: x.at[0].set(FLOATS[0]),
]
OF_ONE_DTYPE = [
    lambda x: x + 1,
    lambda x: x * x,
    lambda x: x / 2,
    lambda x: jnp.sin(x),
    lambda x: jnp.mean(x),
    lambda x: jnp.where(x > 1, x, 0),
    lambda x: x.at[0].set(1),
    lambda x: jnp.concatenate([x, x]),
    lambda x: x.astype(float) + 1.5,
]


@pytest.mark.parametrize("function", MIXED)
@pytest.mark.filterwarnings("ignore:scatter inputs:FutureWarning")
def test_strict_promotion_refuses_mixed_dtypes(function):
    x = jnp.asarray(INTEGERS)
    standard = function(x)
    with config.numpy_dtype_promotion("strict"):
        with pytest.raises(TypePromotionError, match="strict"):
            function(x)
        with pytest.raises(TypePromotionError, match="strict"):
            make_olympuspr(function)(x)
    assert function(x).dtype == standard.dtype


@pytest.mark.parametrize("function", OF_ONE_DTYPE)
def test_strict_promotion_allows_python_scalars_of_kind(function):
    x = jnp.asarray(INTEGERS)
    with config.numpy_dtype_promotion("strict"):
        strict = function(x)
    np.testing.assert_array_equal(np.asarray(strict), np.asarray(function(x)))


OF_UNEQUAL_RANKS = [
    lambda x, y: x + y,
    lambda x, y: jnp.multiply(y, x),
    lambda x, y: jnp.maximum(x, y),
    lambda x, y: x < y,
    lambda x, y: jnp.arctan2(x, y),
    lambda x, y: jnp.clip(y, x, 3),
    lambda x, y: jnp.logaddexp(x, y),
]
OF_RANKS_THAT_FIT = [
    lambda x, y: x + 1,
    lambda x, y: y * y[:1],
    lambda x, y: x + x[0],
    lambda x, y: jnp.matmul(y, x),
    lambda x, y: jnp.outer(x, x),
    lambda x, y: jnp.broadcast_arrays(x, y)[0],
    lambda x, y: y.at[0].set(1),
]


@pytest.mark.parametrize("function", OF_UNEQUAL_RANKS)
def test_rank_promotion_warns_or_raises_by_flag(function):
    x, y = jnp.asarray(FLOATS), jnp.ones((2, 3))
    allowed = function(x, y)
    assert allowed.shape == (2, 3)
    with config.numpy_rank_promotion("raise"):
        with pytest.raises(ValueError, match="rank_promotion"):
            function(x, y)
        with pytest.raises(ValueError, match="rank_promotion"):
            make_olympuspr(function)(x, y)
    with (
        config.numpy_rank_promotion("warn"),
        pytest.warns(UserWarning, match="automatic rank promotion"),
    ):
        assert make_olympuspr(function)(x, y).out_avals[0].shape == (2, 3)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        function(x, y)


@pytest.mark.parametrize("function", OF_RANKS_THAT_FIT)
def test_operations_without_rank_promotion(function):
    x, y = jnp.asarray(FLOATS), jnp.ones((2, 3))
    with config.numpy_rank_promotion("raise"):
        function(x, y)


def test_incompatible_shapes_raise():
    with pytest.raises(TypeError, match=r"incompatible shapes for broadcasting: \(3,\), \(2,\)"):
        jnp.ones(3) + jnp.ones(2)
    with pytest.raises(ValueError, match="Incompatible shapes"):
        jnp.broadcast_shapes((3,), (2,))


def test_vectorize_checks_ranks():
    function = jnp.vectorize(lambda x, y: x + y)
    x, y = jnp.ones((2, 3)), jnp.ones(3)
    with config.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="vectorize"):
        function(x, y)
    with config.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="vectorize"):
        function(x, y)
