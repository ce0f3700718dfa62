# SPDX-License-Identifier: Apache-2.0
"""Random sparse arrays in all layouts, with the equal dense arrays."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from olympus_sparse import BCOO


def dense(shape: Sequence[int], seed: int = 0, dtype: Any = np.float32) -> np.ndarray:
    """Returns a random array of which half is zero."""
    generator = np.random.default_rng(seed)
    values = generator.integers(-4, 5, tuple(shape)) * generator.integers(0, 2, tuple(shape))
    if np.issubdtype(dtype, np.complexfloating):
        values = values * (1 + 0.5j)
    return values.astype(dtype)


def scattered(
    shape: Sequence[int],
    n_batch: int = 0,
    n_dense: int = 0,
    nse: int = 5,
    seed: int = 0,
    dtype: Any = np.float32,
    shared: tuple[bool, bool] = (False, False),
) -> tuple[BCOO, np.ndarray]:
    """Returns random entries, some with equal coordinates, some padding; and the dense array.

    Args:
      shape: the shape.
      n_batch: the number of batch dimensions.
      n_dense: the number of dense dimensions.
      nse: the number of entries.
      seed: of the random numbers.
      dtype: the dtype of values.
      shared: whether all batches share values, and whether they share coordinates.
    """
    generator = np.random.default_rng(seed)
    n_sparse = len(shape) - n_batch - n_dense
    batch, sparse = tuple(shape[:n_batch]), tuple(shape[n_batch : n_batch + n_sparse])
    data_batch, index_batch = ((1,) * n_batch if each else batch for each in shared)
    data = generator.integers(-4, 5, (*data_batch, nse, *shape[n_batch + n_sparse :]))
    # One more than the largest coordinate is out of bounds.
    indices = generator.integers(0, np.array(sparse, int) + 1, (*index_batch, nse, n_sparse))
    out = np.zeros(tuple(shape), dtype)
    full_data = np.broadcast_to(data, (*batch, *data.shape[n_batch:]))
    full_indices = np.broadcast_to(indices, (*batch, *indices.shape[n_batch:]))
    for place in np.ndindex(*batch):
        for values, index in zip(full_data[place], full_indices[place], strict=True):
            if (index < np.array(sparse, int)).all():
                out[(*place, *index)] += values.astype(dtype)
    mat = BCOO((data.astype(dtype), indices.astype(np.int32)), shape=shape)
    return mat, out


def layouts(ndim: int, shared: bool = True) -> Iterator[tuple[int, int, tuple[bool, bool]]]:
    """Returns numbers of batch and dense dimensions, and the buffers that batches share."""
    for n_batch, n_dense in itertools.product(range(ndim + 1), repeat=2):
        if n_batch + n_dense <= ndim:
            yield n_batch, n_dense, (False, False)
            if n_batch and shared and not n_dense:
                yield n_batch, n_dense, (True, False)
                yield n_batch, n_dense, (False, True)


def same(actual: Any, expected: Any) -> None:
    """Checks that a sparse or dense array equals a dense array."""
    if isinstance(actual, BCOO):
        assert actual.shape == np.shape(expected)
        # raises an error if the buffers do not belong together
        BCOO(actual._bufs, shape=actual.shape)
        actual = actual.todense()
    np.testing.assert_allclose(np.asarray(actual), expected, rtol=1e-5, atol=1e-5)
