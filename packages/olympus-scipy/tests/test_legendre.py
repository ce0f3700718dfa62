# SPDX-License-Identifier: Apache-2.0
"""Comparison of associated Legendre functions with derivatives of Legendre polynomials."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial import Legendre

from olympus_ir.settings import config
from olympus_scipy.special.legendre import lpmn, lpmn_values

Z = np.array([-0.9, -0.3, 0.0, 0.2, 0.95])


def by_definition(size):
    values, derivatives = np.zeros((2, size + 1, size + 1, Z.size))
    for degree in range(size + 1):
        polynomial = Legendre.basis(degree)
        for order in range(degree + 1):
            inner = polynomial.deriv(order)(Z)
            power = (-1) ** order * (1 - Z * Z) ** (order / 2)
            values[order, degree] = power * inner
            derivatives[order, degree] = (
                power * polynomial.deriv(order + 1)(Z) - power * order * Z / (1 - Z * Z) * inner
            )
    return values, derivatives


@pytest.mark.parametrize("size", [0, 1, 6])
def test_values_and_derivatives(size):
    with config.enable_x64(True):
        found, expected = lpmn(size, size, Z), by_definition(size)
        np.testing.assert_allclose(found[0], expected[0], rtol=1e-10, atol=1e-10)
        np.testing.assert_allclose(found[1], expected[1], rtol=1e-10, atol=1e-10)
        normalized = lpmn_values(size, size, Z, True)
    for degree in range(size + 1):
        for order in range(degree + 1):
            ratio = math.factorial(degree - order) / math.factorial(degree + order)
            factor = math.sqrt((2 * degree + 1) / (4 * math.pi) * ratio)
            np.testing.assert_allclose(
                normalized[order, degree], factor * expected[0][order, degree], atol=1e-10
            )


def test_ends_of_the_interval():
    ends = np.array([-1.0, 1.0], np.float32)
    values, derivatives = lpmn(2, 2, ends)
    assert values.dtype == derivatives.dtype == np.float32
    np.testing.assert_array_equal(values[0, 2], [1, 1])
    np.testing.assert_array_equal(derivatives[0, 2], [-3, 3])
    np.testing.assert_array_equal(derivatives[1, 1], [-np.inf, np.inf])
    np.testing.assert_array_equal(derivatives[2, 2], [6, -6])


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ((2, 3, np.float32([0.5])), NotImplementedError, "m!=n"),
        ((2, 2, np.float32(0.5)), ValueError, "1D array"),
        ((2, 2, np.array([1])), TypeError, "not supported"),
        ((-1, -1, np.float32([0.5])), ValueError, "degree must not be negative"),
    ],
)
def test_invalid_arguments_raise(arguments, error, text):
    with pytest.raises(error, match=text):
        lpmn(*arguments)
