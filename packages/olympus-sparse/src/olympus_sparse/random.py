# SPDX-License-Identifier: Apache-2.0
"""Random sparse arrays."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
import olympus_random as random
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.avals import canonicalize_shape

from .bcoo.array import BCOO, make
from .bcoo.ordering import bcoo_sort_indices
from .core.base import SparseInfo, split_shape

__all__ = ["random_bcoo"]


def random_bcoo(
    key: ArrayLike,
    shape: Sequence[int],
    *,
    dtype: DTypeLike = float,
    indices_dtype: DTypeLike | None = None,
    nse: float | int = 0.2,
    n_batch: int = 0,
    n_dense: int = 0,
    unique_indices: bool = True,
    sorted_indices: bool = False,
    generator: Callable[..., Any] = random.uniform,
    **kwds: Any,
) -> BCOO:
    """Draws a sparse array with random values at random coordinates.

    Args:
      key: a random key.
      shape: the shape of the array.
      dtype: the dtype of values; float64 or float32 by default, whichever is in use.
      indices_dtype: the dtype of coordinates; the default integer dtype if None.
      nse: the number of entries in each batch. A number below one is a fraction of the elements.
      n_batch: the number of batch dimensions.
      n_dense: the number of dense dimensions.
      unique_indices: whether the coordinates of entries are distinct.
      sorted_indices: whether entries are sorted.
      generator: the sampler of values, called with a key, ``shape=`` and ``dtype=``.
      **kwds: further arguments of ``generator``.

    Returns:
      A `BCOO`.

    Raises:
      ValueError: the numbers do not fit the shape.

    Example:
      >>> random_bcoo(random.key(0), (3, 4), nse=5, dtype=np.float32)
      BCOO(float32[3, 4], nse=5)
    """
    shape = tuple(canonicalize_shape(shape))
    n_batch, n_dense = operator.index(n_batch), operator.index(n_dense)
    n_sparse = len(shape) - n_batch - n_dense
    if n_batch < 0 or n_dense < 0 or n_sparse < 0:
        raise ValueError(f"Invalid {n_batch=}, {n_dense=} for {shape=}")
    batch, sparse, dense = split_shape(shape, n_batch, n_sparse)
    size = math.prod(sparse)
    if not 0 <= nse < 1:
        count = operator.index(nse)  # type: ignore[arg-type]
    else:
        count = math.ceil(nse * size)
    if not 0 <= count <= size:
        raise ValueError(f"got nse={nse}, expected to be between 0 and {size}")
    if indices_dtype is None:
        index_dtype = dtypes.default_int_dtype()
    else:
        index_dtype = dtypes.canonicalize_dtype(np.dtype(indices_dtype))

    batches = math.prod(batch)
    data_key, *index_keys = random.split(key, batches + 1)
    data = generator(data_key, shape=(*batch, count, *dense), dtype=dtype, **kwds)

    def places(key: Any) -> Any:
        if unique_indices:
            flat = random.permutation(key, jnp.arange(size, dtype=np.int32))[:count]
        else:
            flat = random.choice(key, size, shape=(count,), replace=True)
        columns = []
        for extent in reversed(sparse):
            extent = max(extent, 1)
            columns.append(flat % extent)
            flat = flat // extent
        if not columns:
            return jnp.zeros((count, 0), index_dtype)
        return jnp.stack(columns[::-1], axis=1).astype(index_dtype)

    keys = jnp.stack(index_keys) if batches else key
    if batches:
        indices = lax.reshape(vmap(places)(keys), (*batch, count, n_sparse))
    else:
        indices = jnp.zeros((*batch, count, n_sparse), index_dtype)
    mat = make((data, indices), SparseInfo(shape))
    return bcoo_sort_indices(mat) if sorted_indices else mat
