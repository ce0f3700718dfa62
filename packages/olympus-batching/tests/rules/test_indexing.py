# SPDX-License-Identifier: Apache-2.0

from __future__ import annotations

import itertools

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers

X = np.arange(20, dtype=np.float32).reshape(4, 5)


def test_batches_of_slices_equal_a_loop(check):
    check(lambda x: lax.slice(x, (1, 0), (4, 5), (2, 3)), X)
    check(lambda x: lax.slice(x, (1, 0), (4, 5)), X)


def test_starts_of_slices_may_be_batched(check):
    row, column = [np.int32(0), np.int32(2), np.int32(3)], [np.int32(4), np.int32(1), np.int32(0)]
    check(lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), X, row, column)


def test_dynamic_update_slice(check):
    row, column = [np.int32(0), np.int32(2), np.int32(3)], [np.int32(4), np.int32(1), np.int32(0)]
    check(lax_update, X, -X[:2, :3], row, column, places=_some(4))


def lax_update(x, update, i, j):
    return lax.dynamic_update_slice(x, update, (i, j))


def _some(count):
    """Returns combinations of batch dimensions, None among them."""
    return itertools.product((None, 0, 1), (None, 0, 2), *[(None, 0)] * (count - 2))


ROWS = GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,))
MODES = [GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP]


@pytest.mark.parametrize("mode", MODES)
def test_gather_of_rows(check, mode):
    indices = [np.array(rows, np.int32)[:, None] for rows in ([0, 3], [2, 2], [1, 9])]
    check(lambda x, i: lax.gather(x, i, ROWS, (1, 5), mode=mode), X, indices)


def test_gather_with_batching_dimensions(check):
    numbers = GatherDimensionNumbers(
        offset_dims=(),
        collapsed_slice_dims=(1,),
        start_index_map=(1,),
        operand_batching_dims=(0,),
        start_indices_batching_dims=(0,),
    )
    indices = [np.array(columns, np.int32)[:, None] for columns in ([0, 3, 1, 4], [2] * 4, [1] * 4)]
    check(lambda x, i: lax.gather(x, i, numbers, (1, 1)), X, indices)


def test_gather_of_windows(check):
    numbers = GatherDimensionNumbers(
        offset_dims=(1, 2), collapsed_slice_dims=(), start_index_map=(1, 0)
    )
    indices = [
        np.array(starts, np.int32)
        for starts in ([[0, 1], [3, 2]], [[1, 1], [2, 0]], [[0, 0], [1, 2]])
    ]
    check(lambda x, i: lax.gather(x, i, numbers, (2, 2)), X, indices)


def test_gather_without_examples():
    out = vmap(lambda x, i: lax.gather(x, i, ROWS, (1, 5)))(
        np.zeros((0, 4, 5), np.float32), np.zeros((0, 2, 1), np.int32)
    )
    assert out.shape == (0, 2, 5)


SCATTERS = [lax.scatter, lax.scatter_add, lax.scatter_mul, lax.scatter_min, lax.scatter_max]


@pytest.mark.parametrize("scatter", SCATTERS)
def test_scatter_of_rows(check, scatter):
    numbers = ScatterDimensionNumbers(
        update_window_dims=(1,), inserted_window_dims=(0,), scatter_dims_to_operand_dims=(0,)
    )
    indices = [np.array(rows, np.int32)[:, None] for rows in ([0, 3], [2, 1], [1, 9])]
    check(lambda x, i, u: scatter(x, i, u, numbers), X, indices, X[:2] + 3)


def test_scatter_with_batching_dimensions(check):
    numbers = ScatterDimensionNumbers(
        update_window_dims=(),
        inserted_window_dims=(1,),
        scatter_dims_to_operand_dims=(1,),
        operand_batching_dims=(0,),
        scatter_indices_batching_dims=(0,),
    )
    indices = [np.array(columns, np.int32)[:, None] for columns in ([0, 3, 1, 4], [2] * 4, [1] * 4)]
    check(lambda x, i, u: lax.scatter_add(x, i, u, numbers), X, indices, X[:, 0])
