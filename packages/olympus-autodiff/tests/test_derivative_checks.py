# SPDX-License-Identifier: Apache-2.0
"""Checks of derivatives, and derivatives that finite differences and other sources confirm."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import custom_jvp, grad, jvp, vjp
from olympus_autodiff.reverse.derivative_checks import check_grads
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax import linalg
from olympus_ir.settings.config_states import enable_x64


def square_with_slope(slope):
    f = custom_jvp(lambda x: lax.mul(x, x))
    f.defjvp(lambda p, t: (lax.mul(*p, *p), lax.mul(lax.mul(t[0], p[0]), slope)))
    return f


def test_tolerances_by_dtype():
    slightly_wrong = square_with_slope(np.float32(2.02))
    x = (np.float32(1.5),)
    with pytest.raises(AssertionError, match="JVP tangent"):
        check_grads(slightly_wrong, x, 1)
    loose, other = {np.float32: 0.1}, {np.float64: 0.1}
    check_grads(slightly_wrong, x, 1, atol=loose, rtol={np.dtype("float32"): 0.1})
    with pytest.raises(AssertionError, match="rtol=0.002, atol=0.002"):
        check_grads(slightly_wrong, x, 1, atol=other, rtol=other)
    check_grads(square_with_slope(np.float32(2)), x, 2, modes="fwd", rtol=0.01)


@pytest.mark.parametrize("s, q", [(2.0, 3.0), (1.5, 0.25), (7.0, 1.0)])
def test_derivative_of_zeta_in_its_first_argument(s, q):
    # The sum of -log(k + q) (k + q)**-s, with the tail as an integral by the midpoint rule.
    k = np.arange(200_000) + q
    end = k[-1] + 0.5
    tail = -(end ** (1 - s)) * (np.log(end) / (s - 1) + 1 / (s - 1) ** 2)
    expected = -(np.log(k) * k**-s).sum() + tail
    with enable_x64(True):
        np.testing.assert_allclose(grad(lax.zeta)(s, q), expected, rtol=1e-9)
        np.testing.assert_allclose(
            jvp(lax.zeta, (s, q), (0.0, 1.0))[1], -s * lax.zeta(s + 1, q), rtol=1e-12
        )


def test_cotangent_of_a_copy_is_a_copy():
    x, cotangent = lax.full((3,), 1.0), lax.full((3,), 2.0)
    (pulled_back,) = vjp(lambda x: lax.copy_p.bind(x), x)[1](cotangent)
    assert pulled_back is not cotangent and pulled_back.tolist() == [2.0, 2.0, 2.0]


def test_64_bit_types_inside_of_a_function():
    def f(x):
        with enable_x64(True):
            wide = lax.convert_element_type(x, np.float64)
            chosen = lax.select(lax.gt(wide, lax.full((3,), 0.5, np.float64)), wide, -wide)
            total = lax.reduce_sum(lax.mul(chosen, chosen), axes=(0,))
            return lax.convert_element_type(total, np.float32)

    x = np.array([0, 1, 2], np.float32)
    assert grad(f)(x).dtype == np.float32
    np.testing.assert_array_equal(grad(f)(x), 2 * x)


@pytest.mark.parametrize(
    ("operation", "message"),
    [
        (lambda x: lax.cummax(x, 1), r"axis 1 is out of bounds for array of shape \(4,\)"),
        (
            lambda x: lax.reduce_max(x, (1,)),
            r"axes \(1,\) contains out-of-bounds indices for float",
        ),
        (lambda x: linalg.svd(x), r"must have rank at least 2, but got shape=\(4,\)"),
        (
            lambda x: lax.add(x, np.ones((1, 2), np.float32)),
            "same number of dimensions, got {1, 2}",
        ),
    ],
)
def test_derivatives_raise_the_errors_of_operations(operation, message):
    x = np.ones(4, np.float32)
    for call in (
        operation,
        lambda x: jvp(operation, (x,), (x,)),
        lambda x: vjp(operation, x),
        lambda x: vmap(operation)(np.stack([x, x])),
    ):
        with pytest.raises((ValueError, TypeError), match=message):
            call(x)
