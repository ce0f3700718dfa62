# SPDX-License-Identifier: Apache-2.0
"""Properties of matrix factors that hold for all shapes and dtypes."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from olympus_batching import vmap
from olympus_ir.settings import config
from olympus_numpy import linalg

SIZES = st.integers(0, 5)
BATCHES = st.lists(st.integers(0, 2), max_size=2).map(tuple)
DTYPES = st.sampled_from([np.float32, np.float64, np.complex64, np.complex128])
SEEDS = st.integers(0, 2**32 - 1)


def draw(seed, shape, dtype):
    generator = np.random.default_rng(seed)
    x = generator.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * generator.standard_normal(shape)
    return x.astype(dtype)


def adjoint(x):
    return np.swapaxes(np.conj(x), -1, -2)


def close(actual, expected, dtype):
    assert actual.shape == expected.shape
    assert actual.dtype == dtype
    tolerance = 500 * np.finfo(dtype).eps
    np.testing.assert_allclose(actual, expected, rtol=tolerance, atol=tolerance)


def arrays(results):
    return [np.asarray(each) for each in results]


@settings(max_examples=40)
@given(batch=BATCHES, rows=SIZES, columns=SIZES, dtype=DTYPES, seed=SEEDS)
def test_factors_multiply_to_the_matrix(batch, rows, columns, dtype, seed):
    with config.enable_x64(True):
        x = draw(seed, (*batch, rows, columns), dtype)
        q, r = arrays(linalg.qr(x))
        close(q @ r, x, dtype)
        u, s, vh = arrays(linalg.svd(x, full_matrices=False))
        close((u * s[..., None, :]) @ vh, x, dtype)
        p = np.asarray(linalg.pinv(x))
        close(x @ p @ x, x, dtype)


@settings(max_examples=40)
@given(batch=BATCHES, size=SIZES, columns=SIZES, dtype=DTYPES, seed=SEEDS)
def test_systems_of_equations(batch, size, columns, dtype, seed):
    with config.enable_x64(True):
        a = draw(seed, (*batch, size, size), dtype)
        a = a @ adjoint(a) + np.eye(size, dtype=dtype)
        b = draw(seed + 1, (*batch, size, columns), dtype)
        close(a @ np.asarray(linalg.solve(a, b)), b, dtype)
        factor = np.asarray(linalg.cholesky(a))
        close(factor @ adjoint(factor), a, dtype)
        values, vectors = arrays(linalg.eigh(a))
        close(a @ vectors, vectors * values[..., None, :], dtype)
        sign, logarithm = arrays(linalg.slogdet(a))
        close(sign, np.ones_like(sign), dtype)
        scale = np.maximum(1, np.abs(logarithm))
        close(np.log(values).sum(-1) / scale, logarithm / scale, logarithm.dtype)


@settings(max_examples=20)
@given(count=st.integers(1, 3), size=SIZES, dtype=DTYPES, seed=SEEDS)
def test_batches_are_loops(count, size, dtype, seed):
    with config.enable_x64(True):
        x = draw(seed, (count, size, size), dtype) + 3 * np.eye(size, dtype=dtype)
        for function in (linalg.inv, linalg.det, lambda x: linalg.qr(x).R, linalg.svdvals):
            batched = np.asarray(vmap(function)(x))
            looped = np.stack([np.asarray(function(each)) for each in x])
            close(batched, looped, looped.dtype)
