# SPDX-License-Identifier: Apache-2.0
"""Comparison of convolution, correlation and polynomials with NumPy."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import olympus_numpy as jnp
from olympus_autodiff import grad, jacfwd, jacrev
from olympus_batching import vmap
from olympus_ir import make_olympuspr
from olympus_ir.diagnostics.errors import ConcretizationTypeError

LENGTHS = [(1, 1), (5, 3), (3, 5), (4, 4), (6, 2), (2, 7), (1, 4)]
MODES = ["full", "same", "valid"]


def vector(length, dtype, seed):
    generator = np.random.default_rng((seed, length))
    if np.issubdtype(dtype, np.complexfloating):
        return (generator.normal(size=length) + 1j * generator.normal(size=length)).astype(dtype)
    if np.issubdtype(dtype, np.integer):
        return generator.integers(0, 9, length).astype(dtype)
    return generator.normal(size=length).astype(dtype)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64, np.uint8])
def test_convolve_equals_numpy(mode, dtype):
    for first, second in LENGTHS:
        a, v = vector(first, dtype, 1), vector(second, dtype, 2)
        expected = np.convolve(a.astype(np.complex128), v.astype(np.complex128), mode)
        result = jnp.convolve(a, v, mode)
        assert result.dtype == (np.complex64 if dtype == np.complex64 else np.float32)
        np.testing.assert_allclose(np.asarray(result), expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("dtype", [np.float32, np.int32, np.complex64])
def test_correlate_equals_numpy(mode, dtype):
    for first, second in LENGTHS:
        if mode == "same" and min(first, second) % 2 == 0 and first <= second:
            # NumPy's "same" for an even number of elements depends on the order of the operands
            continue
        a, v = vector(first, dtype, 1), vector(second, dtype, 2)
        expected = np.correlate(a.astype(np.complex128), v.astype(np.complex128), mode)
        result = np.asarray(jnp.correlate(a, v, mode))
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-5)


def test_dtypes_of_results():
    small = np.ones(3, ml_dtypes.bfloat16)
    assert jnp.convolve(small, small).dtype == ml_dtypes.bfloat16
    assert jnp.convolve(small, small, preferred_element_type=np.float32).dtype == np.float32
    integers = np.arange(3)
    assert jnp.convolve(integers, integers).dtype == np.float32
    assert jnp.convolve(integers, integers, preferred_element_type=np.int32).dtype == np.int32


def test_correlate_slides_the_shorter_vector():
    text = str(make_olympuspr(jnp.correlate)(np.ones(3, np.float32), np.ones(5, np.float32)))
    assert "broadcast_dimensions=(2,)" in text
    assert text.index("rev[dimensions=(2,)]") > text.index("conv_general_dilated")
    assert "name=correlate" in text
    assert "name=_conv" in text


def test_derivatives_and_batches():
    a, v = vector(5, np.float32, 1), vector(3, np.float32, 2)
    jacobian = jacrev(jnp.convolve)(a, v)
    np.testing.assert_allclose(np.asarray(jacobian) @ a, np.convolve(a, v), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(jacfwd(jnp.convolve)(a, v), jacobian, rtol=1e-6)
    batch = np.stack([a, 2 * a])
    expected = np.stack([np.convolve(row, v) for row in batch])
    np.testing.assert_allclose(vmap(jnp.convolve, (0, None))(batch, v), expected, rtol=1e-5)
    kernels = np.stack([v, -v])
    expected = np.stack([np.convolve(*pair) for pair in zip(batch, kernels, strict=True)])
    np.testing.assert_allclose(vmap(jnp.convolve)(batch, kernels), expected, rtol=1e-5)


@pytest.mark.parametrize("name", ["convolve", "correlate"])
def test_invalid_input_raises(name):
    function = getattr(jnp, name)
    ones = np.ones(3)
    with pytest.raises(ValueError, match="mode must be one of"):
        function(ones, ones, "some")
    with pytest.raises(ValueError, match=r"1-dimensional.*\(2, 3\)"):
        function(np.ones((2, 3)), ones)
    with pytest.raises(ValueError, match=r"cannot be empty.*\(0,\)"):
        function(ones, np.ones(0))
    with pytest.raises(TypeError, match="list"):
        function([1.0], ones)


# ---- polynomials ----


def test_polymul_convolves_coefficients():
    for first, second in LENGTHS:
        p, q = vector(first, np.float32, 1), vector(second, np.float32, 2)
        np.testing.assert_allclose(jnp.polymul(p, q), np.convolve(p, q), rtol=1e-5, atol=1e-5)
    assert jnp.polymul(np.zeros(0), np.ones(2)).tolist() == [0, 0]
    zeros_first = np.array([0.0, 0.0, 1.0]), np.array([0.0, 1.0])
    assert jnp.polymul(*zeros_first).tolist() == [0, 0, 0, 1]
    assert jnp.polymul(*zeros_first, trim_leading_zeros=True).tolist() == [1]


@pytest.mark.parametrize("dtype", [np.float32, np.complex64])
def test_polydiv_inverts_the_product(dtype):
    for first, second in LENGTHS:
        u, v = vector(first, dtype, 1), vector(second, dtype, 2)
        quotient, remainder = jnp.polydiv(u, v)
        product = np.convolve(np.asarray(quotient), v)
        size = max(len(product), len(u))
        whole = np.pad(product, (size - len(product), 0))
        whole = whole + np.pad(np.asarray(remainder), (size - len(u), 0))
        np.testing.assert_allclose(whole, np.pad(u, (size - len(u), 0)), rtol=2e-4, atol=2e-4)
        expected, _ = np.polydiv(u, v)
        np.testing.assert_allclose(quotient, expected, rtol=2e-3, atol=2e-4)


def test_polydiv_trim_leading_zeros():
    u, v = np.array([1.0, 4.0, 4.0]), np.array([1.0, 2.0])
    assert jnp.polydiv(u, v)[1].tolist() == [0, 0, 0]
    assert jnp.polydiv(u, v, trim_leading_zeros=True)[1].shape == (0,)
    with pytest.raises(ConcretizationTypeError, match="polydiv trims"):
        make_olympuspr(lambda u: jnp.polydiv(u, v, trim_leading_zeros=True))(u)


def test_polydiv_is_differentiable():
    u, v = np.array([1.0, -3.0, 2.0], np.float32), np.array([1.0, -1.0], np.float32)
    # The quotient of (x - 1)(x - 2) + e by x - 1 does not change with e.
    gradient = grad(lambda u: jnp.polydiv(u, v)[0].sum())(u)
    assert gradient.tolist() == [2, 1, 0]


def test_poly_has_the_given_roots():
    roots = np.array([1.0, 2.0, -3.0])
    np.testing.assert_allclose(jnp.poly(roots), np.poly(roots), rtol=1e-6)
    np.testing.assert_allclose(jnp.poly(np.array([1 + 1j, 1 - 1j])), [1, -2, 2], atol=1e-6)
    assert jnp.poly(np.zeros(0)).tolist() == 1
    assert jnp.poly(np.float32(2)).tolist() == [1, -2]
    for shape in ((2, 3), (0, 0), (2, 2, 2)):
        with pytest.raises(ValueError, match="1d or non-empty square 2d"):
            jnp.poly(np.ones(shape))


def test_invalid_polynomials_raise():
    with pytest.raises(ValueError, match=r"vectors of coefficients.*\(2, 2\)"):
        jnp.polymul(np.ones((2, 2)), np.ones(2))
    with pytest.raises(TypeError, match="vectors of coefficients"):
        jnp.polydiv(np.ones(2), np.float32(1))
    with pytest.raises(IndexError, match="divisor"):
        jnp.polydiv(np.ones(2), np.ones(0))


@pytest.mark.parametrize("subscripts", ["ij->i", "ij->", "ii->i", "ii", "ij->ji", "ij,jk->ik"])
def test_einsum_of_booleans_is_any_of_logical_and(subscripts):
    x = np.array([[True, False], [True, True]])
    operands = [x] * (subscripts.count(",") + 1)
    expected = np.einsum(subscripts, *(each.astype(int) for each in operands)) > 0
    found = jnp.einsum(subscripts, *operands)
    assert found.dtype == bool and found.tolist() == expected.tolist()
