# SPDX-License-Identifier: Apache-2.0
"""Reference rules of reductions: neutral elements, NaNs, general functions."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from scipy import special

from olympus_ir import lax
from olympus_ir.reference import reference_evaluator, reference_rules


def rule(primitive, *operands, **params):
    return reference_rules[primitive](*operands, **params)


@pytest.mark.parametrize(
    ("primitive", "dtype", "expected"),
    [
        (lax.reduce_max_p, np.float32, -np.inf),
        (lax.reduce_min_p, np.float32, np.inf),
        (lax.reduce_max_p, np.int8, -128),
        (lax.reduce_min_p, np.uint8, 255),
        (lax.reduce_max_p, np.bool_, False),
        (lax.reduce_min_p, np.bool_, True),
        (lax.reduce_and_p, np.int32, -1),
        (lax.reduce_and_p, np.bool_, True),
        (lax.reduce_or_p, np.int32, 0),
        (lax.reduce_xor_p, np.int32, 0),
        (lax.reduce_sum_p, np.float32, 0),
        (lax.reduce_prod_p, np.float32, 1),
    ],
)
def test_empty_reductions_return_identities(primitive, dtype, expected):
    result = rule(primitive, np.zeros((0, 2), dtype), axes=(0,))
    assert result.dtype == dtype
    assert result.tolist() == [expected] * 2


def test_extrema_propagate_nan():
    x = np.array([1, np.nan, 3], np.float32)
    assert np.isnan(rule(lax.reduce_max_p, x, axes=(0,)))
    assert np.isnan(rule(lax.reduce_min_p, x, axes=(0,)))
    assert rule(lax.argmax_p, x, axes=(0,), index_dtype=np.dtype(np.int32)) == 1


def test_sums_of_short_floats_are_rounded_once():
    x = np.full(3008, 1.0, ml_dtypes.bfloat16)  # adding one by one would stop at 256
    assert float(rule(lax.reduce_sum_p, x, axes=(0,))) == 3008
    assert rule(lax.reduce_sum_p, np.full(3, 100, np.int8), axes=(0,)) == 300 - 256


def test_reduce_by_function_starts_from_initial_value():
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    program = lambda x, y: lax.add(lax.mul(x, 2.0), y)  # noqa: E731
    result = lax.reduce(x, np.float32(1), program, (1,))
    # ((1 * 2 + x0) * 2 + x1) * 2 + x2
    assert np.asarray(result).tolist() == [8 + 0 * 4 + 1 * 2 + 2, 8 + 3 * 4 + 4 * 2 + 5]


def test_reduce_over_several_operands_and_dimensions():
    x = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    total, largest = lax.reduce(
        (x, -x),
        (np.int32(0), np.int32(-100)),
        lambda a, b: (lax.add(a[0], b[0]), lax.max(a[1], b[1])),
        (0, 2),
    )
    assert np.asarray(total).tolist() == x.sum((0, 2)).tolist()
    assert np.asarray(largest).tolist() == (-x).max((0, 2)).tolist()


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("axis", [0, 1])
def test_cumulative_operations_equal_numpy(axis, reverse):
    x = np.random.default_rng(0).uniform(0.5, 1.5, (3, 4))
    flip = (lambda a: np.flip(a, axis)) if reverse else (lambda a: a)
    params = {"axis": axis, "reverse": reverse}
    for primitive, expected in (
        (lax.cumsum_p, np.cumsum(flip(x), axis)),
        (lax.cumprod_p, np.cumprod(flip(x), axis)),
        (lax.cummax_p, np.maximum.accumulate(flip(x), axis)),
        (lax.cummin_p, np.minimum.accumulate(flip(x), axis)),
        (lax.cumlogsumexp_p, np.log(np.cumsum(np.exp(flip(x)), axis))),
    ):
        np.testing.assert_allclose(rule(primitive, x, **params), flip(expected), rtol=1e-12)


def test_cumulative_logsumexp_does_not_overflow():
    x = np.array([1000.0, 1000.0, -1000.0])
    result = rule(lax.cumlogsumexp_p, x, axis=0, reverse=False)
    np.testing.assert_allclose(
        result, [special.logsumexp(x[: n + 1]) for n in range(3)], rtol=1e-14
    )
    rotated = x.astype(np.complex128) + 1j
    np.testing.assert_allclose(
        rule(lax.cumlogsumexp_p, rotated, axis=0, reverse=False), result + 1j, rtol=1e-14
    )


def test_results_have_the_inferred_types():
    result = reference_evaluator.evaluate(
        lax.argmax_p, (np.ones((2, 3)),), {"axes": (1,), "index_dtype": np.dtype(np.uint8)}
    )
    assert (result.shape, result.dtype) == ((2,), np.uint8)
