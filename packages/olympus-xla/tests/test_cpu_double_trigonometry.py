# SPDX-License-Identifier: Apache-2.0
"""Sine and cosine of doubles, compared with NumPy's in extended precision."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings import config_states
from olympus_xla import jit
from olympus_xla.compiling.lowering.cpu import double_trigonometry

RNG = np.random.default_rng(0)
FUNCTIONS = {"sin": (lax.sin, np.sin), "cos": (lax.cos, np.cos)}
BOUND = 0.79
HALF_PI = np.longdouble("1.5707963267948966192313216916397514421")
OPERANDS = {
    "around_zero": RNG.normal(size=200_000),
    "up_to_the_bound": RNG.uniform(-(2.0**20), 2.0**20, 200_000),
    "next_to_multiples": (np.arange(-660_000, 660_000) * HALF_PI).astype(np.float64),
    "all_sizes": np.exp(RNG.uniform(-700, 13, 200_000)),
    "above_the_bound": np.append(RNG.normal(size=5000), [2.0**20 + 1, 1e22, 1e300]),
}

needs_long_doubles = pytest.mark.skipif(
    np.finfo(np.longdouble).nmant < 63, reason="long doubles are doubles here"
)


def computed(name, x):
    with config_states.enable_x64(True):
        return np.asarray(jit(FUNCTIONS[name][0])(x))


@needs_long_doubles
@pytest.mark.parametrize("operands", OPERANDS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_errors_are_below_the_bound(name, operands):
    x = OPERANDS[operands]
    expected = FUNCTIONS[name][1](x.astype(np.longdouble))
    unit = np.spacing(np.abs(expected.astype(np.float64))).astype(np.longdouble)
    assert (np.abs(computed(name, x) - expected) / unit).max() < BOUND


@pytest.mark.parametrize("name", FUNCTIONS)
def test_special_operands_have_the_values_of_numpy(name):
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-300, -1e-300, 2.0**-27])
    x = np.tile(special, 1024)
    with np.errstate(invalid="ignore"):
        expected = FUNCTIONS[name][1](x)
    result = computed(name, x)
    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(np.signbit(result[:2]), np.signbit(expected[:2]))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_small_arrays_keep_the_operation(name):
    x = RNG.normal(size=double_trigonometry.SMALLEST)
    texts = []
    with config_states.enable_x64(True):
        for each in (x, x[:-1]):
            texts.append(jit(FUNCTIONS[name][0]).lower(each).as_text())
    assert ["stablehlo.case" in text for text in texts] == [True, False]


def test_derivatives_and_batches():
    x = RNG.normal(size=(3, 5000))
    with config_states.enable_x64(True):
        slopes = vmap(grad(lambda x: lax.reduce_sum(lax.sin(x), (0,))))(x)
    np.testing.assert_allclose(slopes, np.cos(x), rtol=1e-15)


def test_complex_operands_have_the_values_of_numpy():
    z = RNG.normal(size=5000) + 1j * RNG.normal(size=5000)
    np.testing.assert_allclose(computed("sin", z), np.sin(z), rtol=1e-14)
    np.testing.assert_allclose(computed("cos", z), np.cos(z), rtol=1e-14)
