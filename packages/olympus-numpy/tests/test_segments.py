# SPDX-License-Identifier: Apache-2.0
"""Comparison of reductions over segments with loops of NumPy."""

from __future__ import annotations

import functools

import numpy as np
import pytest

from olympus_autodiff import jvp, vjp
from olympus_batching import vmap
from olympus_ir.diagnostics.errors import ConcretizationTypeError
from olympus_ir.programs.jit import jit
from olympus_ir.programs.make import make_olympuspr
from olympus_numpy.numerics.segments import segment_max, segment_min, segment_prod, segment_sum
from olympus_testing import check_grads

FUNCTIONS = {
    segment_sum: (np.add, 0),
    segment_prod: (np.multiply, 1),
    segment_max: (np.maximum, -np.inf),
    segment_min: (np.minimum, np.inf),
}
IDS = np.array([0, 2, 2, 0, 4, 2], np.int32)
ROWS = np.random.default_rng(0).uniform(-2, 2, (6, 3)).astype(np.float32)


def expected(function, rows, ids, count):
    combine, neutral = FUNCTIONS[function]
    result = np.full((count, *rows.shape[1:]), neutral, rows.dtype)
    for row, place in zip(rows, ids, strict=True):
        if 0 <= place < count:
            result[place] = combine(result[place], row)
    return result


@pytest.mark.parametrize("function", FUNCTIONS)
@pytest.mark.parametrize("count", [None, 3, 5, 7])
@pytest.mark.parametrize("bucket_size", [None, 2, 6])
def test_rows_of_each_segment(function, count, bucket_size):
    actual = function(ROWS, IDS, count, bucket_size=bucket_size)
    wanted = expected(function, ROWS, IDS, 5 if count is None else count)
    np.testing.assert_allclose(actual, wanted, rtol=1e-6)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_out_of_range_ids_are_dropped(function):
    ids = np.array([-1, 0, 9, 1, 1, -5])
    np.testing.assert_allclose(function(ROWS, ids, 3), expected(function, ROWS, ids, 3), rtol=1e-6)


def test_empty_segments_have_extreme_integers():
    integers = np.array([5, 6], np.int8)
    assert segment_max(integers, np.array([0, 0]), 2).tolist() == [6, -128]
    assert segment_min(integers, np.array([0, 0]), 2).tolist() == [5, 127]
    assert segment_max(integers > 5, np.array([0, 0]), 2).tolist() == [True, False]


def test_no_rows_give_zeros():
    assert segment_sum(np.ones((0, 2)), np.zeros(0, np.int32), 2).tolist() == [[0, 0], [0, 0]]


def test_segments_can_be_transformed():
    count = functools.partial(segment_sum, segment_ids=IDS, num_segments=5)
    check_grads(lambda x: count(x), (ROWS,), order=1, jvp=jvp, vjp=vjp)
    np.testing.assert_allclose(jit(lambda x: count(x))(ROWS), count(ROWS), rtol=1e-6)
    batched = vmap(lambda x, ids: segment_sum(x, ids, 5))(
        np.stack([ROWS, 2 * ROWS]), np.stack([IDS, IDS[::-1]])
    )
    np.testing.assert_allclose(batched[1], segment_sum(2 * ROWS, IDS[::-1], 5), rtol=1e-6)


def test_scatter_options_are_passed_on():
    text = str(
        make_olympuspr(
            lambda x, ids: segment_sum(
                x, ids, 5, indices_are_sorted=True, unique_indices=True, mode="clip"
            )
        )(ROWS, IDS)
    )
    assert "indices_are_sorted=True" in text
    assert "unique_indices=True" in text
    assert "mode=GatherScatterMode.CLIP" in text


def test_the_number_of_segments_must_be_known():
    with pytest.raises(ConcretizationTypeError, match="pass num_segments"):
        jit(segment_sum)(ROWS, IDS)
    with pytest.raises(ValueError, match="non-negative, got -1"):
        segment_sum(ROWS, IDS, -1)


def test_non_array_arguments_raise():
    with pytest.raises(TypeError, match="segment_sum requires ndarray or scalar arguments"):
        segment_sum([1, 2], [0, 1])
    with pytest.raises(TypeError, match="integer or boolean type"):
        segment_sum(ROWS, IDS.astype(np.float32), 3)
