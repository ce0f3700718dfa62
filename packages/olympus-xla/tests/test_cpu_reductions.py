# SPDX-License-Identifier: Apache-2.0
"""Reductions of few elements by XLA's loops, compared with NumPy."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.settings import config_states
from olympus_ir.settings.config_flags import cpu_lowerings
from olympus_xla import clear_caches, jit

RNG = np.random.default_rng(0)
SUM, MAX, MIN = (lax.reduce_sum, np.sum), (lax.reduce_max, np.max), (lax.reduce_min, np.min)
CASES = [
    ((1000, 3), (1,)),
    ((3, 1000), (0,)),
    ((40, 4, 50), (1,)),
    ((500, 2, 2), (1, 2)),
    ((5000, 4), (0,)),
    ((50, 60, 8), (0, 1)),
    ((100, 32), (1,)),
]


def with_special_numbers(shape):
    x = RNG.normal(size=shape).astype(np.float32)
    places = RNG.integers(0, x.size, (4, 20))
    x.ravel()[places] = np.float32([[np.nan], [np.inf], [-np.inf], [-0.0]])
    return x


@pytest.mark.parametrize(("shape", "axes"), CASES)
@pytest.mark.parametrize("functions", [SUM, MAX, MIN])
def test_reductions_equal_numpy(functions, shape, axes):
    ours, numpys = functions
    for x in (RNG.normal(size=shape).astype(np.float32), with_special_numbers(shape)):
        with np.errstate(invalid="ignore"):
            expected = numpys(x.astype(np.float64), axis=axes)
        tolerance = 0 if functions is not SUM else 1e-4
        np.testing.assert_allclose(jit(ours, static_argnums=1)(x, axes), expected, atol=tolerance)


@pytest.mark.parametrize(("shape", "axes"), [*CASES, ((7, 100), (1,)), ((100, 7), (0, 1))])
def test_any_and_all(shape, axes):
    for threshold in (-9, -3.2, 0, 3.2, 9):
        x = RNG.normal(size=shape) > threshold
        found = jit(lambda x: (lax.reduce_or(x, axes), lax.reduce_and(x, axes)))(x)
        np.testing.assert_array_equal(found[0], x.any(axes))
        np.testing.assert_array_equal(found[1], x.all(axes))


@pytest.mark.parametrize(
    ("shape", "axes", "keeps"),
    [
        ((1000, 3), (1,), True),
        ((1000, 33), (1,), False),
        ((1000, 9), (0,), False),
        ((1000, 8), (0,), True),
        ((1000, 1), (0,), False),
        ((1000, 1000), (0, 1), False),
    ],
)
def test_long_rows_use_the_library(shape, axes, keeps):
    x = np.zeros(shape, np.float32)
    lower = jit(lax.reduce_sum, static_argnums=1).lower
    assert ("reduce_precision" in lower(x, axes).as_text()) == keeps
    cpu_lowerings.update(False)
    try:
        clear_caches()
        assert "reduce_precision" not in lower(x, axes).as_text()
    finally:
        cpu_lowerings.update(True)
        clear_caches()


def test_compiled_programs_have_no_library_call():
    x = np.zeros((100_000, 3), np.float32)
    text = jit(lambda x: lax.reduce_sum(lax.mul(x, x), (1,))).lower(x).compile().as_text()
    assert "ynn" not in text and "reduce(" in text


def test_derivatives_and_batches():
    x = RNG.normal(size=(7, 50, 3)).astype(np.float32)

    def norms(x):
        return lax.reduce_sum(lax.sqrt(lax.reduce_sum(lax.mul(x, x), (1,))), (0,))

    expected = x / np.linalg.norm(x, axis=-1, keepdims=True)
    np.testing.assert_allclose(vmap(grad(norms))(x), expected, rtol=1e-5)


def test_sums_of_doubles_keep_their_precision():
    x = RNG.normal(size=(1000, 3))
    with config_states.enable_x64(True):
        sums = np.asarray(jit(lambda x: lax.reduce_sum(x, (1,)))(x))
    np.testing.assert_allclose(sums, x.sum(1), rtol=1e-13, atol=1e-15)


@pytest.mark.parametrize(
    ("shape", "axes"),
    [
        ((1_000_000,), (0,)),
        ((65_537,), (0,)),
        ((40, 1000), (1,)),
        ((3, 4099), (1,)),
        ((8, 40, 50), (1, 2)),
        ((8, 40, 50), (0, 1, 2)),
    ],
)
@pytest.mark.parametrize("dtype", [np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64])
def test_extremes_of_integers(shape, axes, dtype):
    info = np.iinfo(dtype)
    x = RNG.integers(info.min, info.max, shape, dtype, endpoint=True)
    with config_states.enable_x64(True):
        run = jit(lambda x: (lax.reduce_max(x, axes), lax.reduce_min(x, axes)))
        largest, least = run(x)
        np.testing.assert_array_equal(largest, x.max(axes))
        np.testing.assert_array_equal(least, x.min(axes))
        assert "optimization_barrier" in run.lower(x).as_text()


def test_short_or_leading_dimensions_keep_one_reduction():
    for shape, axes in [((4000,), (0,)), ((1000, 100), (1,)), ((1000, 1000), (0,))]:
        x = np.zeros(shape, np.int32)
        text = jit(lambda x, axes=axes: lax.reduce_max(x, axes)).lower(x).as_text()
        assert "optimization_barrier" not in text
