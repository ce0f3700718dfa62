# SPDX-License-Identifier: Apache-2.0
"""Comparison of cosine transforms, interpolation, images and quantization with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.cluster.vq
import scipy.fft
import scipy.integrate
import scipy.interpolate
import scipy.ndimage

import olympus_numpy as jnp
from olympus_autodiff import jvp, vjp
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_ir.trees import pytrees
from olympus_scipy import cluster, fft, integrate, interpolate, ndimage
from olympus_testing import check_grads

GENERATOR = np.random.default_rng(0)
NORMS = (None, "backward", "ortho", "forward")


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("shape", [(5,), (6,), (2,), (3, 4)])
def test_cosine_transforms_equal_those_of_scipy(shape, type, norm):
    x = GENERATOR.normal(size=shape)
    with config.enable_x64(True):
        for name in ("dct", "idct"):
            ours, theirs = getattr(fft, name), getattr(scipy.fft, name)
            for n in (None, 3, 8):
                for axis in {0, -1}:
                    np.testing.assert_allclose(
                        ours(x, type, n, axis, norm), theirs(x, type, n, axis, norm), atol=1e-12
                    )
        for name in ("dctn", "idctn"):
            ours, theirs = getattr(fft, name), getattr(scipy.fft, name)
            np.testing.assert_allclose(
                ours(x, type, norm=norm), theirs(x, type, norm=norm), atol=1e-12
            )
            np.testing.assert_allclose(
                ours(x, type, (4,), (-1,), norm), theirs(x, type, (4,), (-1,), norm), atol=1e-12
            )


def test_cosine_transforms_of_other_dtypes():
    z = (GENERATOR.normal(size=4) + 1j).astype(np.complex64)
    assert fft.dct(z).dtype == np.complex64
    np.testing.assert_allclose(fft.dct(z), scipy.fft.dct(z), rtol=1e-5)
    np.testing.assert_allclose(fft.dct(np.arange(5)), scipy.fft.dct(np.arange(5.0)), atol=1e-5)
    with config.enable_x64(True):
        check_grads(fft.dct, (GENERATOR.normal(size=5),), order=1, jvp=jvp, vjp=vjp)


def test_invalid_transforms_raise():
    x = np.ones(4, np.float32)
    with pytest.raises(NotImplementedError, match="types 1 to 4"):
        fft.dct(x, 5)
    with pytest.raises(ValueError, match="not implemented"):
        fft.dct(x, norm="none")
    with pytest.raises(ValueError, match="invalid number of data points"):
        fft.dct(x, n=0)
    with pytest.raises(ValueError, match="too few data points"):
        fft.dct(x[:1], 1)
    with pytest.raises(ValueError, match="different lengths"):
        fft.dctn(x, s=(2, 3), axes=(0,))


IMAGE = GENERATOR.normal(size=(5, 6))
PLACES = [GENERATOR.uniform(-12, 17, 40), GENERATOR.uniform(-12, 17, 40)]


@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("mode", ["nearest", "mirror", "reflect", "wrap"])
def test_map_coordinates_equals_that_of_scipy(mode, order):
    theirs = "grid-wrap" if mode == "wrap" else mode
    expected = scipy.ndimage.map_coordinates(IMAGE, PLACES, order=order, mode=theirs)
    with config.enable_x64(True):
        found = ndimage.map_coordinates(IMAGE, PLACES, order, mode)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_map_coordinates_with_constants():
    line = np.arange(5, dtype=np.float32)
    places = [np.array([-2.5, -0.5, 0.0, 1.5, 4.2, 7.0], np.float32)]
    # Beyond the last element the constant is interpolated, too.
    np.testing.assert_allclose(
        ndimage.map_coordinates(line, places, 1, cval=10.0), [10, 5, 0, 1.5, 5.2, 10], rtol=1e-5
    )
    np.testing.assert_allclose(
        ndimage.map_coordinates(line, places, 0, cval=10.0), [10, 10, 0, 2, 4, 10]
    )
    rounded = ndimage.map_coordinates(np.array([0, 3]), [np.array([0.5, 0.4])], 1)
    assert rounded.dtype == np.int32
    np.testing.assert_array_equal(rounded, [2, 1])
    with config.enable_x64(True):
        check_grads(
            lambda x, y: ndimage.map_coordinates(x, [y], 1),
            (np.array([0.5, 2.0, -1.0]), np.array([0.3, 1.7])),
            order=1,
            jvp=jvp,
            vjp=vjp,
        )


def test_invalid_images_raise():
    with pytest.raises(ValueError, match="sequence of length input.ndim"):
        ndimage.map_coordinates(IMAGE, PLACES[:1], 1)
    with pytest.raises(NotImplementedError, match="does not support mode"):
        ndimage.map_coordinates(IMAGE, PLACES, 1, "extend")
    with pytest.raises(NotImplementedError, match="requires order<=1"):
        ndimage.map_coordinates(IMAGE, PLACES, 3)


GRID = (np.sort(GENERATOR.uniform(size=5)), np.sort(GENERATOR.uniform(size=6)))


@pytest.mark.parametrize("fill_value", [np.nan, None, 2.0])
@pytest.mark.parametrize("method", ["linear", "nearest"])
@pytest.mark.parametrize("extra", [(), (2,)])
def test_grid_interpolation_equals_that_of_scipy(extra, method, fill_value):
    values = GENERATOR.normal(size=(5, 6, *extra))
    points = GENERATOR.uniform(-0.2, 1.2, (7, 3, 2))
    arguments = (GRID, values, method, False, fill_value)
    expected = scipy.interpolate.RegularGridInterpolator(*arguments)(points)
    with config.enable_x64(True):
        found = interpolate.RegularGridInterpolator(*arguments)(points)
    np.testing.assert_allclose(found, expected, atol=1e-12)


def test_invalid_grids_raise():
    values = np.ones((5, 6))
    make = interpolate.RegularGridInterpolator
    with pytest.raises(ValueError, match="is not defined"):
        make(GRID, values, "cubic")
    with pytest.raises(NotImplementedError, match="bounds_error"):
        make(GRID, values, bounds_error=True)
    with pytest.raises(ValueError, match="point arrays"):
        make((*GRID, *GRID), values)
    with pytest.raises(ValueError, match="values in dimension 1"):
        make((GRID[0], GRID[0]), values)
    with pytest.raises(ValueError, match="must be 1-dimensional"):
        make((GRID[0], values), values)
    with pytest.raises(ValueError, match="sample points xi have dimension 3"):
        make(GRID, values)(np.ones((2, 3)))


def test_vector_quantization_equals_that_of_scipy():
    observations, codes = GENERATOR.normal(size=(8, 2)), GENERATOR.normal(size=(3, 2))
    expected = scipy.cluster.vq.vq(observations, codes)
    with config.enable_x64(True):
        found = cluster.vq.vq(observations, codes)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1])
    with pytest.raises(ValueError, match="same rank"):
        cluster.vq.vq(observations, codes[0])
    with pytest.raises(ValueError, match="ndim different than 1 or 2"):
        cluster.vq.vq(observations[None], codes[None])
    with pytest.raises(ValueError, match="number of columns"):
        cluster.vq.vq(observations, codes[:, :1])


@pytest.mark.parametrize("fill_value", [None, np.nan, -1.0])
def test_interpolators_are_pytrees(fill_value):
    grid = np.array([0.0, 1.0, 3.0], np.float32), np.array([0.0, 2.0], np.float32)
    values = GENERATOR.normal(size=(3, 2)).astype(np.float32)
    xi = np.array([[0.5, 1.0], [2.0, 0.5], [4.0, 1.0]], np.float32)
    interpolator = interpolate.RegularGridInterpolator(
        grid, values, method="nearest", fill_value=fill_value
    )
    assert len(pytrees.tree_leaves(interpolator)) == (3 if fill_value is None else 4)
    called = jit(lambda f, xi: f(xi))(interpolator, xi)
    np.testing.assert_array_equal(called, interpolator(xi))
    doubled = pytrees.tree_map(lambda leaf: 2 * leaf, interpolator)
    assert doubled.method == "nearest"
    np.testing.assert_array_equal(doubled(2 * xi), 2 * called)


def test_trapezoid_equals_that_of_scipy():
    y, x = GENERATOR.normal(size=(3, 5)), np.sort(GENERATOR.normal(size=5))
    with config.enable_x64(True):
        np.testing.assert_allclose(integrate.trapezoid(y, x), scipy.integrate.trapezoid(y, x))
        np.testing.assert_allclose(
            integrate.trapezoid(y, dx=0.5, axis=0), scipy.integrate.trapezoid(y, dx=0.5, axis=0)
        )


def test_dctn_along_an_integer_axis():
    x = np.arange(12.0, dtype=np.float32).reshape(3, 4)
    np.testing.assert_array_equal(fft.dctn(x, axes=1), fft.dctn(x, axes=(1,)))
    np.testing.assert_array_equal(fft.idctn(x, s=(2,), axes=0), fft.idctn(x, s=(2,), axes=(0,)))
    np.testing.assert_array_equal(fft.dctn(x, s=2, axes=0), fft.dctn(x, s=(2,), axes=(0,)))
    np.testing.assert_allclose(fft.idctn(x, s=2), scipy.fft.idctn(x, s=2), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("method", ["linear", "nearest"])
def test_grids_of_integers_of_few_bits(method):
    grid, values, points = np.array([0, 1, 3]), np.array([2.0, 4.0, -2.0]), np.array([0.25, 2.5])
    expected = scipy.interpolate.RegularGridInterpolator((grid,), values, method)(points)
    for dtype in ("int4", "uint2"):
        interpolator = interpolate.RegularGridInterpolator(
            (jnp.array(grid, dtype),), values.astype(np.float32), method
        )
        np.testing.assert_allclose(interpolator(points), expected, rtol=1e-6)
