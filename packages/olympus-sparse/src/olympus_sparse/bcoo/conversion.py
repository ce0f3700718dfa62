# SPDX-License-Identifier: Apache-2.0
"""Conversion between dense and BCOO arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import Zero, is_undefined_primal, jvp_rules, transpose_rules
from olympus_batching import batching_rules
from olympus_ir import lax
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from ..core.base import SparseInfo
from ..core.entries import add_up, first_of_equals, look_up, over_batches
from ..core.primitives import define_multilinear_jvp, sparse_primitive
from .array import BCOO, layout_of, make
from .batching import batched_info, lead

__all__ = [
    "bcoo_extract",
    "bcoo_extract_p",
    "bcoo_fromdense",
    "bcoo_fromdense_p",
    "bcoo_todense",
    "bcoo_todense_p",
]


# ---- bcoo_todense ----


@sparse_primitive("bcoo_todense", linear_in=(0,))
def bcoo_todense_p(data: Any, indices: Any, *, spinfo: SparseInfo) -> Any:
    layout = layout_of(data, indices, spinfo.shape)
    n_batch = layout.n_batch
    sparse_shape = spinfo.shape[n_batch : n_batch + layout.n_sparse]

    def of_batch(data: Any, indices: Any) -> Any:
        return add_up(
            data,
            indices,
            sparse_shape,
            indices_sorted=spinfo.indices_sorted,
            unique_indices=spinfo.unique_indices,
        )

    out = over_batches(of_batch, n_batch, data, indices)
    if out.shape == spinfo.shape:
        return out
    return lax.broadcast_in_dim(out, spinfo.shape, tuple(range(out.ndim)))


define_multilinear_jvp(bcoo_todense_p, 0)


@transpose_rules.define(bcoo_todense_p)
def _bcoo_todense_transpose(cotangent: Any, data: Any, indices: Any, *, spinfo: Any) -> list[Any]:
    if is_undefined_primal(indices):
        raise ValueError("Cannot transpose with respect to sparse indices")
    values = bcoo_extract_p.bind(indices, cotangent, assume_unique=True)
    return [sum_to(values, data.aval.shape), None]


@batching_rules.define(bcoo_todense_p)
def _bcoo_todense_batching(axis_size: int, args: Any, batch_dims: Any, *, spinfo: Any) -> Any:
    data, indices = lead(args, batch_dims)
    info = batched_info(spinfo, axis_size)
    return bcoo_todense_p.bind(data, indices, spinfo=info), 0


def sum_to(values: Any, shape: tuple[int, ...]) -> Any:
    """Sums over the leading dimensions that have size one in ``shape``."""
    spread = tuple(axis for axis, size in enumerate(shape) if size == 1 and values.shape[axis] != 1)
    return lax.expand_dims(lax.reduce_sum(values, spread), spread) if spread else values


def bcoo_todense(mat: BCOO) -> Array:
    """Converts a sparse array to a dense array.

    Args:
      mat: the sparse array.

    Returns:
      An array of the shape and the dtype of ``mat``.

    Example:
      >>> import numpy as np
      >>> np.asarray(bcoo_todense(bcoo_fromdense(np.eye(2, dtype=np.float32)))).tolist()
      [[1.0, 0.0], [0.0, 1.0]]
    """
    return bcoo_todense_p.bind(jnp.asarray(mat.data), jnp.asarray(mat.indices), spinfo=mat._info)


# ---- bcoo_extract ----


@sparse_primitive("bcoo_extract", linear_in=(1,))
def bcoo_extract_p(indices: Any, arr: Any, *, assume_unique: bool) -> Any:
    n_batch = indices.ndim - 2

    def of_batch(indices: Any, arr: Any) -> Any:
        values = look_up(arr, indices)
        if assume_unique:
            return values
        first = first_of_equals(indices, arr.shape[: indices.shape[1]])
        first = lax.expand_dims(first, tuple(range(1, values.ndim)))
        return jnp.where(first, values, jnp.zeros((), values.dtype))

    return over_batches(of_batch, n_batch, indices, arr)


define_multilinear_jvp(bcoo_extract_p, 1)


@transpose_rules.define(bcoo_extract_p)
def _bcoo_extract_transpose(
    cotangent: Any, indices: Any, arr: Any, *, assume_unique: bool
) -> list[Any]:
    if is_undefined_primal(indices):
        raise ValueError("Cannot transpose with respect to sparse indices")
    shape = arr.aval.shape
    if not assume_unique:
        n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
        sparse_shape = shape[n_batch : n_batch + n_sparse]
        first = over_batches(
            lambda rows: first_of_equals(rows, sparse_shape),
            n_batch,
            indices,
        )
        first = lax.expand_dims(first, tuple(range(first.ndim, cotangent.ndim)))
        cotangent = jnp.where(first, cotangent, jnp.zeros((), cotangent.dtype))
    batch = np.broadcast_shapes(cotangent.shape[: indices.ndim - 2], indices.shape[:-2])
    full = (*batch, *shape[indices.ndim - 2 :])
    info = SparseInfo(full, indices_sorted=False, unique_indices=False)
    return [None, sum_to(bcoo_todense_p.bind(cotangent, indices, spinfo=info), shape)]


@batching_rules.define(bcoo_extract_p)
def _bcoo_extract_batching(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    return bcoo_extract_p.bind(*lead(args, batch_dims), **params), 0


def bcoo_extract(sparr: BCOO, arr: ArrayLike, *, assume_unique: bool | None = None) -> BCOO:
    """Gathers the values of a dense array at the coordinates of a sparse array.

    Args:
      sparr: the sparse array; its values are ignored.
      arr: the dense array, of the same shape.
      assume_unique: whether every entry gets the value at its coordinates; by default
        ``sparr.unique_indices``. If False, the first of several entries with equal coordinates gets
        the value. The other entries get zero, so that all of them add up to the value.

    Returns:
      A `BCOO` with the coordinates of ``sparr``.

    Raises:
      TypeError: ``sparr`` is not a `BCOO`.
      ValueError: the shapes differ.

    Example:
      >>> import numpy as np
      >>> places = bcoo_fromdense(np.eye(2, dtype=np.float32))
      >>> np.asarray(bcoo_extract(places, np.array([[5, 6], [7, 8]])).data).tolist()
      [5, 8]
    """
    if not isinstance(sparr, BCOO):
        raise TypeError(
            f"First argument to bcoo_extract should be a BCOO array. Got type(sparr)={type(sparr)}"
        )
    array = jnp.asarray(arr)
    if array.shape != sparr.shape:
        raise ValueError(f"shape mismatch: sparr.shape={sparr.shape} a.shape={array.shape}")
    if assume_unique is None:
        assume_unique = sparr.unique_indices
    return sparr._with_data(
        bcoo_extract_p.bind(sparr.indices, array, assume_unique=bool(assume_unique))
    )


# ---- bcoo_fromdense ----


def _places(mat: Any, n_batch: int, n_dense: int) -> Any:
    """Returns the mask of nonzero entries; ``[*batch, *sparse, *dense] -> [..., *sparse]``."""
    mask = mat != 0
    return jnp.any(mask, axis=tuple(range(mat.ndim - n_dense, mat.ndim))) if n_dense else mask


@sparse_primitive("bcoo_fromdense", multiple_results=True)
def bcoo_fromdense_p(
    mat: Any, *, nse: int, n_batch: int, n_dense: int, index_dtype: Any
) -> list[Any]:
    mask = _places(mat, n_batch, n_dense)

    def coordinates(mask: Any) -> Any:
        if mask.ndim == 0:
            return jnp.zeros((nse, 0), index_dtype)
        columns = jnp.nonzero(mask, size=nse, fill_value=mask.shape)
        return jnp.stack(columns, axis=1).astype(index_dtype)

    indices = over_batches(coordinates, n_batch, mask) if nse else None
    if indices is None:
        n_sparse = mat.ndim - n_batch - n_dense
        indices = jnp.zeros((*mat.shape[:n_batch], 0, n_sparse), index_dtype)
    data = over_batches(_values, n_batch, mat, indices)
    return [data, indices]


def _values(mat: Any, indices: Any) -> Any:
    values = look_up(mat, indices)
    # without sparse dimensions, all entries but the first are padding
    if indices.shape[1] == 0 and indices.shape[0] > 1:
        values = values.at[1:].set(0)
    return values


@jvp_rules.define(bcoo_fromdense_p)
def _bcoo_fromdense_jvp(primals: Any, tangents: Any, *, n_batch: int, **params: Any) -> Any:
    data, indices = bcoo_fromdense_p.bind(*primals, n_batch=n_batch, **params)
    tangent = over_batches(_values, n_batch, tangents[0], indices)
    return [data, indices], [tangent, Zero.of(indices)]


@batching_rules.define(bcoo_fromdense_p)
def _bcoo_fromdense_batching(
    axis_size: int, args: Any, batch_dims: Any, *, n_batch: int, **params: Any
) -> Any:
    (mat,) = lead(args, batch_dims)
    return bcoo_fromdense_p.bind(mat, n_batch=n_batch + 1, **params), [0, 0]


def check_layout(name: str, ndim: int, n_batch: int, n_dense: int) -> None:
    """Checks that an array has enough dimensions for ``n_batch`` and ``n_dense``.

    Raises:
      ValueError: the array has too few dimensions.
    """
    n_batch, n_dense = operator.index(n_batch), operator.index(n_dense)
    if n_batch < 0 or n_dense < 0 or n_batch + n_dense > ndim:
        raise ValueError(
            f"{name}: an array of {ndim} dimensions cannot have {n_batch=} batch and {n_dense=} "
            "dense dimensions"
        )


def count_places(mat: Any, n_batch: int, n_dense: int, context: str) -> int:
    """Returns the ``nse`` that a dense array needs: the maximum over its batches."""
    mask = _places(mat, n_batch, n_dense)
    counts = jnp.sum(mask, axis=tuple(range(n_batch, mask.ndim)))
    counts = concrete_or_error(np.asarray, counts, context)
    return int(counts.max()) if counts.size else 0


def bcoo_fromdense(
    mat: ArrayLike,
    *,
    nse: int | None = None,
    n_batch: int = 0,
    n_dense: int = 0,
    index_dtype: DTypeLike = np.int32,
) -> BCOO:
    """Converts a dense array to a sparse array.

    Args:
      mat: the dense array.
      nse: the number of entries in each batch. By default, the smallest number that suffices;
        the array must then be concrete. If there are more nonzero elements, the last elements are
        dropped.
      n_batch: the number of leading batch dimensions.
      n_dense: the number of trailing dense dimensions.
      index_dtype: the dtype of coordinates.

    Returns:
      A `BCOO` with sorted and distinct coordinates.

    Raises:
      ValueError: there are too many batch and dense dimensions.
      ConcretizationTypeError: ``nse`` is not given in a traced function.

    Example:
      >>> import numpy as np
      >>> bcoo_fromdense(np.eye(3, dtype=np.float32), n_batch=1)
      BCOO(float32[3, 3], nse=1, n_batch=1)
    """
    mat = jnp.asarray(mat)
    check_layout("bcoo_fromdense", mat.ndim, n_batch, n_dense)
    if nse is None:
        nse = count_places(
            mat,
            n_batch,
            n_dense,
            "the `nse` argument of bcoo_fromdense: in a compiled function the number of entries "
            "must be given, since it would depend on values.",
        )
    index_dtype = dtypes.check_and_canonicalize_user_dtype(index_dtype, "index_dtype")
    nse = concrete_or_error(operator.index, nse, "the `nse` argument of bcoo_fromdense")
    assert nse is not None
    if nse < 0:
        raise ValueError(f"bcoo_fromdense: nse must not be negative, got {nse}")
    data, indices = bcoo_fromdense_p.bind(
        mat, nse=nse, n_batch=n_batch, n_dense=n_dense, index_dtype=index_dtype
    )
    return make((data, indices), SparseInfo(mat.shape, True, True))
