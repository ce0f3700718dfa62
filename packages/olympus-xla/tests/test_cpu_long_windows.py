# SPDX-License-Identifier: Apache-2.0
"""Convolutions of a sequence with a long window on one CPU device, compared with NumPy."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_ir import lax
from olympus_ir.settings import config
from olympus_xla import jit

RNG = np.random.default_rng(0)


def correlate(x, w, padding, numbers=("NCH", "OIH", "NCH")):
    """Returns the sums of products of the windows of a sequence with the weights."""
    shapes = [
        [size if letter == "H" else 1 for letter in spec]
        for size, spec in ((x.size, numbers[0]), (w.size, numbers[1]))
    ]
    result = lax.conv_general_dilated(
        lax.reshape(x, shapes[0]),
        lax.reshape(w, shapes[1]),
        (1,),
        [padding],
        dimension_numbers=numbers,
    )
    return lax.reshape(result, (result.size,))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    ("length", "window", "padding"),
    [
        (3000, 64, (0, 0)),
        (3000, 100, (99, 99)),
        (20_000, 1000, (999, 999)),
        (9000, 50, (-10, 60)),
        (1600, 499, (0, 0)),
    ],
)
def test_long_windows(length, window, padding, dtype):
    x, w = RNG.normal(size=length).astype(dtype), RNG.normal(size=window).astype(dtype)
    low, high = padding
    wide = np.pad(x.astype(np.float64), (max(low, 0), high))[max(-low, 0) :]
    expected = np.correlate(wide, w.astype(np.float64), "valid")
    with config.enable_x64(True):
        for numbers in (("NCH", "OIH", "NCH"), ("NHC", "HIO", "NHC")):
            run = jit(lambda x, w, numbers=numbers: correlate(x, w, padding, numbers))
            tolerance = 1e-3 if dtype == np.float32 else 1e-11
            np.testing.assert_allclose(run(x, w), expected, atol=tolerance)
        assert "stablehlo.dot_general" in run.lower(x, w).as_text()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_special_numbers_reach_only_the_results_that_see_them(value):
    x, w = np.ones(5000, np.float32), np.ones(1000, np.float32)
    x[3000] = value
    result = np.asarray(jit(lambda x, w: correlate(x, w, (0, 0)))(x, w))
    np.testing.assert_array_equal(
        np.isfinite(result), np.r_[np.full(2001, True), np.full(1000, False), np.full(1000, True)]
    )


def _paired(x, y):
    return lax.reduce_sum(lax.mul(x, y), (0,))


def test_derivatives():
    x, w = RNG.normal(size=6000).astype(np.float32), RNG.normal(size=700).astype(np.float32)
    cotangent = RNG.normal(size=5301).astype(np.float32)
    slopes = jit(grad(lambda x, w: _paired(correlate(x, w, (0, 0)), cotangent), (0, 1)))(x, w)
    np.testing.assert_allclose(slopes[0], np.convolve(cotangent.astype(float), w), atol=1e-3)
    np.testing.assert_allclose(slopes[1], np.correlate(x.astype(float), cotangent), atol=1e-3)
