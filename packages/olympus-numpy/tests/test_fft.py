# SPDX-License-Identifier: Apache-2.0
"""Comparison of Fourier transforms with NumPy, for all lengths, axes and norms."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import jvp, vjp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings import config
from olympus_testing import check_grads

REAL_INPUT = ("rfft", "ihfft", "rfft2", "rfftn")
ONE = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
TWO = ("fft2", "ifft2", "rfft2", "irfft2")
SEVERAL = ("fftn", "ifftn", "rfftn", "irfftn")
NORMS = (None, "backward", "ortho", "forward")


def array(function, shape, dtype=np.float64):
    generator = np.random.default_rng(0)
    values = generator.standard_normal(shape)
    if function not in REAL_INPUT:
        values = values + 1j * generator.standard_normal(shape)
        dtype = np.result_type(dtype, np.complex64)
    return values.astype(dtype)


def assert_as_numpy(function, x, **keywords):
    expected = getattr(np.fft, function)(x, **keywords)
    with config.enable_x64(True):
        found = getattr(jnp.fft, function)(x, **keywords)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("n", [None, 1, 2, 5, 6, 9])
@pytest.mark.parametrize("function", ONE)
def test_along_one_axis(function, n, norm):
    x = array(function, (3, 6, 4))
    for axis in (-1, 0, 1):
        assert_as_numpy(function, x, n=n, axis=axis, norm=norm)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("s", [None, (2, 7), (5, 4)])
@pytest.mark.parametrize("function", TWO)
def test_along_two_axes(function, s, norm):
    x = array(function, (3, 6, 4))
    for axes in ((-2, -1), (0, 1), (2, 0)):
        assert_as_numpy(function, x, s=s, axes=axes, norm=norm)


@pytest.mark.parametrize("norm", ["backward", "ortho"])
@pytest.mark.parametrize("function", SEVERAL)
def test_along_several_axes(function, norm):
    x = array(function, (3, 2, 4, 3, 2))
    for axes in (None, (0,), (3, 1, 0), (0, 2, 1, 4), (4, 3, 2, 1, 0)):
        assert_as_numpy(function, x, axes=axes, norm=norm)
    assert_as_numpy(function, x, s=(2, 3), axes=(0, 3), norm=norm)


@pytest.mark.parametrize("function", ONE + TWO + SEVERAL)
def test_single_precision_is_kept(function):
    x = array(function, (3, 6), np.float32)
    found = getattr(jnp.fft, function)(x)
    assert found.dtype in (np.float32, np.complex64)
    np.testing.assert_allclose(found, getattr(np.fft, function)(x), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("function", ["fft", "ifft", "rfft", "irfft"])
def test_integers_become_floats(function):
    np.testing.assert_allclose(
        getattr(jnp.fft, function)(jnp.arange(4)),
        getattr(np.fft, function)(np.arange(4)),
        rtol=1e-6,
    )


def test_axis_none_transforms_all_axes():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_allclose(jnp.fft.fft(x, axis=None), np.fft.fftn(x), atol=1e-5)
    np.testing.assert_allclose(jnp.fft.rfft(x, n=4, axis=None), np.fft.rfft(x, n=4), atol=1e-5)


@pytest.mark.parametrize("function", ["fftshift", "ifftshift"])
def test_shifts_equal_numpy(function):
    x = np.arange(30).reshape(5, 6)
    for axes in (None, 0, 1, (0, 1), -1):
        np.testing.assert_array_equal(
            getattr(jnp.fft, function)(x, axes), getattr(np.fft, function)(x, axes)
        )


@pytest.mark.parametrize("function", ["fftfreq", "rfftfreq"])
def test_frequencies_equal_numpy(function):
    for n, d in itertools.product((1, 2, 5, 8), (1.0, 0.1)):
        found = getattr(jnp.fft, function)(n, d)
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, getattr(np.fft, function)(n, d), rtol=1e-6)
    assert getattr(jnp.fft, function)(4, dtype=np.float16).dtype == np.float16
    with pytest.raises(ValueError, match="only takes a single value"):
        getattr(jnp.fft, function)(4, [1.0, 2.0])


def test_derivatives_equal_finite_differences():
    with config.enable_x64(True):
        for function in ("rfft", "irfft", "hfft", "ihfft", "rfftn", "irfftn", "fft"):
            x = array(function, (3, 4))
            check_grads(getattr(jnp.fft, function), (x,), order=2, jvp=jvp, vjp=vjp)


def test_batches_equal_transforms_along_another_axis():
    x = array("rfft", (3, 6, 2))
    with config.enable_x64(True):
        found = vmap(lambda y: jnp.fft.rfft(y, axis=0), in_axes=2, out_axes=1)(x)
    np.testing.assert_allclose(found, np.moveaxis(np.fft.rfft(x, axis=0), 2, 1), rtol=1e-12)


def test_invalid_input_raises():
    x = jnp.ones((2, 3))
    with pytest.raises(ValueError, match="Invalid norm value"):
        jnp.fft.fft(x, norm="none")
    with pytest.raises(ValueError, match="Shape should be positive"):
        jnp.fft.fft(x, n=0)
    with pytest.raises(ValueError, match="out of bounds"):
        jnp.fft.fft(x, axis=2)
    with pytest.raises(ValueError, match="different lengths"):
        jnp.fft.fftn(x, s=(2,), axes=(0, 1))
    with pytest.raises(ValueError, match="repeated axes"):
        jnp.fft.fftn(x, axes=(0, 0))
    with pytest.raises(ValueError, match="only supports 2 axes"):
        jnp.fft.fft2(x, axes=(0,))
    with pytest.raises(ValueError, match="only real valued inputs"):
        jnp.fft.rfft(x + 1j)
    with pytest.raises(TypeError, match="requires ndarray"):
        jnp.fft.fft([1.0, 2.0])
    with pytest.raises(ValueError, match="Unknown FFT type"):
        lax.fft(x, "DCT", (3,))
    with pytest.raises(ValueError, match="minor dimensions"):
        lax.fft(x, "FFT", (4,))
    with pytest.raises(ValueError, match="at least as many input dimensions"):
        lax.fft(x, "FFT", (1, 2, 3))
    with pytest.raises(ValueError, match="at most 3 dimensions"):
        lax.fft(jnp.ones((1, 1, 1, 1)), "FFT", (1, 1, 1, 1))


@pytest.mark.parametrize("beta", [0.0, 0.3, 8.6, 14.0])
def test_kaiser_windows_equal_numpy(beta):
    for length in (0, 1, 2, 5, 12):
        np.testing.assert_allclose(
            jnp.kaiser(length, beta), np.kaiser(length, beta), rtol=1e-4, atol=1e-6
        )


def test_i0_and_its_derivative_are_right_at_zero():
    x = np.linspace(-20, 20, 81).astype(np.float32)
    np.testing.assert_allclose(jnp.i0(x), np.i0(x), rtol=3e-6)
    tangent = jvp(jnp.i0, (np.float32(0),), (np.float32(1),))[1]
    assert tangent == 0
    with config.enable_x64(True):
        check_grads(jnp.i0, (np.array([-2.0, 0.5, 3.0]),), order=2, jvp=jvp, vjp=vjp)
    with pytest.raises(ValueError, match="Unsupported input type"):
        jnp.i0(1j)


def test_scalars_along_no_axes():
    for function, dtype in (
        ("irfftn", np.complex64),
        ("fftn", np.complex64),
        ("rfftn", np.float32),
    ):
        found = getattr(jnp.fft, function)(3.0)
        assert (found.dtype, found.weak_type, complex(found)) == (dtype, False, 3.0)
