# SPDX-License-Identifier: Apache-2.0
"""Sines, cosines and squares of complex numbers keep signs of zeros and do not overflow early."""

import numpy as np
import pytest

from olympus_ir import lax
from olympus_xla import jit

ZEROS = [complex(0.0, 0.0), complex(0.0, -0.0), complex(-0.0, 0.0), complex(-0.0, -0.0)]
IMAGINARY = [complex(0.0, y) for y in (1.0, -2.0, np.inf, -np.inf)]
OTHERS = [complex(1.0, 2.0), complex(-3.0, 0.5), complex(2.0, -0.0)]


@pytest.mark.parametrize("transform", [lambda f: f, jit])
@pytest.mark.parametrize("name", ["sin", "cos"])
def test_values_equal_numpy(transform, name):
    z = np.array(ZEROS + IMAGINARY + OTHERS, np.complex64)
    found = np.asarray(transform(getattr(lax, name))(z))
    with np.errstate(all="ignore"):
        expected = getattr(np, name)(z)
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    if name == "sin":
        np.testing.assert_array_equal(np.signbit(found.real), np.signbit(expected.real))
        np.testing.assert_array_equal(np.signbit(found.imag), np.signbit(expected.imag))


def test_square_of_large_components():
    # (1 + i)^2 = 2i: the real parts cancel, however large they are.
    assert complex(lax.square(np.complex64(1e30 + 1e30j))) == complex(0, np.inf)
