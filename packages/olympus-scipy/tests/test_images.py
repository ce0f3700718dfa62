# SPDX-License-Identifier: Apache-2.0
"""Comparison of resampling with known interpolations: averages, lines, polynomials, identities."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_scipy.images import ResizeMethod, resize, scale_and_translate

SMOOTH = ["linear", "cubic", "lanczos3", "lanczos5", "area", ResizeMethod.CUBIC_PYTORCH]
X = np.random.default_rng(0).normal(size=(6, 8)).astype(np.float32)


@pytest.mark.parametrize("method", ["nearest", *SMOOTH])
def test_resize_to_same_shape_is_identity(method):
    np.testing.assert_array_equal(resize(X, X.shape, method), X)


@pytest.mark.parametrize("method", SMOOTH)
@pytest.mark.parametrize("shape", [(3, 5), (13, 9), (6, 20), (1, 1)])
@pytest.mark.parametrize("antialias", [True, False])
def test_resize_keeps_constants(method, shape, antialias):
    image = np.full((6, 8), 2.5, np.float32)
    np.testing.assert_allclose(resize(image, shape, method, antialias), np.full(shape, 2.5), 1e-5)


def test_area_averages_blocks():
    expected = X.reshape(3, 2, 2, 4).mean((1, 3))
    np.testing.assert_allclose(resize(X, (3, 2), "area"), expected, rtol=1e-5, atol=1e-6)


def test_linear_interpolates_between_middles():
    row = X[0]
    places = (np.arange(21) + 0.5) * 8 / 21 - 0.5
    expected = np.interp(places, np.arange(8), row)
    np.testing.assert_allclose(resize(row, (21,), "bilinear"), expected, rtol=1e-5, atol=1e-6)


def test_cubic_reproduces_parabolas_inside():
    # Keys's interpolation with the parameter -1/2 has an error of third order.
    row = np.arange(12.0) ** 2
    result = np.asarray(resize(row, (36,), "cubic"))
    places = (np.arange(36) + 0.5) / 3 - 0.5
    np.testing.assert_allclose(result[6:-6], places[6:-6] ** 2, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("new", [3, 5, 7, 10])
def test_nearest_takes_samples(new):
    row = np.arange(5)
    result = np.asarray(resize(row, (new,), "nearest"))
    assert result.dtype == np.int32
    np.testing.assert_array_equal(result, np.floor((np.arange(new) + 0.5) * 5 / new))


def test_integer_translations_move_pixels():
    one, zero = np.ones(1, np.float32), np.zeros(1, np.float32)
    for method in SMOOTH:
        moved = scale_and_translate(X, X.shape, (1,), one, 2 * one, method)
        expected = np.concatenate([np.zeros((6, 2)), X[:, :-2]], axis=1)
        np.testing.assert_allclose(moved, expected, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(
            scale_and_translate(X, X.shape, (0,), one, zero, method), X, rtol=1e-4, atol=1e-5
        )


def test_resizing_can_be_batched_and_differentiated():
    batch = np.stack([X, 2 * X])
    mapped = vmap(lambda x: resize(x, (3, 5), "cubic"))(batch)
    np.testing.assert_allclose(mapped, resize(batch, (2, 3, 5), "cubic"), rtol=1e-5, atol=1e-6)
    # Each sample's weights sum to one, so the derivative of the sum counts the new samples.
    slope = grad(lambda x: resize(x, (12, 16), "linear").sum())(X)
    assert float(slope.sum()) == pytest.approx(12 * 16, rel=1e-5)

    def moved(s):
        zero = np.zeros(1, np.float32)
        return scale_and_translate(np.arange(8.0), (8,), (0,), s, zero, "linear").sum()

    step = np.full(1, 1e-2, np.float32)
    numerical = (moved(1.3 + step) - moved(1.3 - step)) / (2 * step[0])
    assert float(grad(moved)(1.3 + 0 * step)[0]) == pytest.approx(float(numerical), rel=2e-2)


def test_invalid_arguments_raise():
    one = np.ones(1, np.float32)
    with pytest.raises(ValueError, match="length equal to the number of dimensions"):
        resize(X, (3,), "linear")
    with pytest.raises(ValueError, match='Unknown resize method "quick"'):
        resize(X, (3, 3), "quick")
    with pytest.raises(ValueError, match="nothing to sample along dimension 0"):
        resize(np.zeros((0, 2)), (3, 2), "linear")
    with pytest.raises(ValueError, match="Nearest neighbor"):
        scale_and_translate(X, X.shape, (0,), one, one, "nearest")
    with pytest.raises(ValueError, match="scale needs one entry"):
        scale_and_translate(X, X.shape, (0, 1), one, one, "linear")
    with pytest.raises(ValueError, match="not one of spatial_dims"):
        scale_and_translate(X, (6, 9), (0,), one, one, "linear")


@pytest.mark.parametrize("name", ["bicubic-pytorch", "cubic-pytorch"])
def test_bicubic_resampling_of_pytorch(name):
    # Keys's kernel with the parameter -3/4 at the four nearest samples; the border is repeated.
    def kernel(distance):
        if distance < 1:
            return 1.25 * distance**3 - 2.25 * distance**2 + 1
        return -0.75 * (distance**3 - 5 * distance**2 + 8 * distance - 4)

    old, new = 4, 7
    expected = np.zeros((old, new))
    for column in range(new):
        place = (column + 0.5) * old / new - 0.5
        for sample in np.floor(place) + np.arange(-1, 3):
            expected[int(np.clip(sample, 0, old - 1)), column] += kernel(abs(place - sample))
    found = resize(np.eye(old), (old, new), name, antialias=False)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    smoothed = resize(np.eye(old), (old, 2), name)
    np.testing.assert_allclose(smoothed, resize(np.eye(old), (old, 2), "bicubic"), atol=1e-6)
