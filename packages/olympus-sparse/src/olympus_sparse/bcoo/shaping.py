# SPDX-License-Identifier: Apache-2.0
"""Shapes of BCOO arrays: transposition, broadcasting, reversal, concatenation."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import Zero, is_undefined_primal, transpose_rules
from olympus_batching import batching_rules
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.types.avals import canonicalize_shape

from ..core.base import SparseInfo
from ..core.entries import in_bounds, padding
from ..core.primitives import define_multilinear_jvp, sparse_primitive
from .array import BCOO, Layout, layout_of, make
from .batching import batched_info, lead, without_lead

__all__ = [
    "bcoo_broadcast_in_dim",
    "bcoo_concatenate",
    "bcoo_rev",
    "bcoo_squeeze",
    "bcoo_transpose",
    "bcoo_transpose_p",
    "zero_column",
]


# ---- bcoo_transpose ----


def _parts(permutation: Sequence[int], layout: Layout) -> tuple[list[int], list[int], list[int]]:
    """Returns the permutations of batch, sparse and dense dimensions, each numbered from zero.

    Raises:
      NotImplementedError: the permutation mixes kinds of dimensions.
    """
    n_batch, n_sparse, n_dense, _ = layout
    permutation = tuple(permutation)
    batch = list(permutation[:n_batch])
    sparse = [axis - n_batch for axis in permutation[n_batch : n_batch + n_sparse]]
    dense = [axis - n_batch - n_sparse for axis in permutation[n_batch + n_sparse :]]
    if sorted(batch) != list(range(n_batch)):
        raise NotImplementedError(
            "transpose permutation cannot permute batch axes with non-batch axes; "
            f"got permutation {permutation}, with {n_batch=}."
        )
    if sorted(dense) != list(range(n_dense)):
        raise NotImplementedError(
            "transpose permutation cannot permute dense axes with non-dense axes; "
            f"got permutation {permutation}, with {n_dense=}."
        )
    return batch, sparse, dense


@sparse_primitive("bcoo_transpose", multiple_results=True, linear_in=(0,))
def bcoo_transpose_p(
    data: Any, indices: Any, *, permutation: tuple[int, ...], spinfo: SparseInfo
) -> list[Any]:
    layout = layout_of(data, indices, spinfo.shape)
    batch, sparse, dense = _parts(permutation, layout)
    n_batch = layout.n_batch
    data_order = (*batch, n_batch, *(axis + n_batch + 1 for axis in dense))
    data = lax.transpose(data, data_order)
    indices = lax.transpose(indices, (*batch, n_batch, n_batch + 1))
    if sparse != sorted(sparse):
        indices = indices[..., np.array(sparse)]
    return [data, indices]


define_multilinear_jvp(bcoo_transpose_p, 0)


@transpose_rules.define(bcoo_transpose_p)
def _bcoo_transpose_transpose(
    cotangents: Any, data: Any, indices: Any, *, permutation: Any, spinfo: SparseInfo
) -> list[Any]:
    if is_undefined_primal(indices):
        raise ValueError("Cannot transpose with respect to sparse indices")
    cotangent = cotangents[0]
    if cotangent.__class__ is Zero:
        return [None, None]
    layout = layout_of(data.aval, indices, spinfo.shape)
    batch, _, dense = _parts(permutation, layout)
    n_batch = layout.n_batch
    order = (*batch, n_batch, *(axis + n_batch + 1 for axis in dense))
    return [lax.transpose(cotangent, tuple(np.argsort(order).tolist())), None]


@batching_rules.define(bcoo_transpose_p)
def _bcoo_transpose_batching(
    axis_size: int, args: Any, batch_dims: Any, *, permutation: Any, spinfo: SparseInfo
) -> Any:
    out = bcoo_transpose_p.bind(
        *lead(args, batch_dims),
        permutation=(0, *(axis + 1 for axis in permutation)),
        spinfo=batched_info(spinfo, axis_size),
    )
    return without_lead(out, axis_size)


def bcoo_transpose(mat: BCOO, *, permutation: Sequence[int]) -> BCOO:
    """Permutes dimensions.

    Args:
      mat: the sparse array.
      permutation: for each dimension of the result, the dimension of ``mat``. Dimensions keep their
        kind: batch, sparse or dense.

    Returns:
      A `BCOO`.

    Raises:
      ValueError: ``permutation`` is not a permutation of the dimensions.
      NotImplementedError: the permutation mixes kinds of dimensions.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0, 2], [1, 0]])), shape=(2, 3))
      >>> bcoo_transpose(mat, permutation=(1, 0))
      BCOO(int32[3, 2], nse=2)
    """
    if not isinstance(permutation, Iterable):
        raise TypeError(
            f"the permutation of dimensions must be a sequence of integers, got {permutation!r}"
        )
    permutation = tuple(map(operator.index, permutation))
    if sorted(permutation) != list(range(mat.ndim)):
        raise ShapeError(
            "transpose permutation isn't a permutation of operand dimensions, got permutation "
            f"{permutation} for shape {mat.shape}."
        )
    if permutation == tuple(range(mat.ndim)):
        return mat
    buffers = bcoo_transpose_p.bind(
        mat.data, mat.indices, permutation=permutation, spinfo=mat._info
    )
    shape = tuple(mat.shape[axis] for axis in permutation)
    n_batch = mat.n_batch
    # Whether entries are sorted depends only on the order of sparse dimensions.
    sparse = permutation[n_batch : n_batch + mat.n_sparse]
    in_order = mat.indices_sorted and list(sparse) == sorted(sparse)
    return make(tuple(buffers), SparseInfo(shape, in_order, mat.unique_indices))


# ---- bcoo_broadcast_in_dim ----


def bcoo_broadcast_in_dim(
    mat: BCOO, *, shape: Sequence[int], broadcast_dimensions: Sequence[int], sharding: Any = None
) -> BCOO:
    """Broadcasts an array to new dimensions, and along dimensions of size one.

    New dimensions before the first sparse dimension are batch dimensions. In sparse dimensions,
    entries are repeated.

    Args:
      mat: the sparse array.
      shape: the shape of the result.
      broadcast_dimensions: for each dimension of ``mat``, the dimension of the result.
      sharding: must be None, since sparse arrays are placed by their buffers.

    Returns:
      A `BCOO`.

    Raises:
      ValueError: the dimensions or sizes do not fit.
      NotImplementedError: ``sharding`` is given.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0], [2]])), shape=(3,))
      >>> bcoo_broadcast_in_dim(mat, shape=(2, 3), broadcast_dimensions=(1,))
      BCOO(int32[2, 3], nse=2, n_batch=1)
    """
    if sharding is not None:
        raise NotImplementedError("bcoo_broadcast_in_dim: sharding must be None")
    shape = tuple(canonicalize_shape(shape))
    dims = tuple(map(operator.index, broadcast_dimensions))
    _check_broadcast(mat, shape, dims)
    n_batch, n_sparse = mat.n_batch, mat.n_sparse
    batch_end, sparse_end = _sparse_range(mat, shape, dims)
    old_sparse = dims[n_batch : n_batch + n_sparse]
    # Batch and dense dimensions are broadcast.
    entry_axis = batch_end
    new_dense = (dim - sparse_end + entry_axis + 1 for dim in dims[n_batch + n_sparse :])
    data = lax.broadcast_in_dim(
        mat.data,
        (*shape[:batch_end], mat.nse, *shape[sparse_end:]),
        (*dims[:n_batch], entry_axis, *new_dense),
    )
    indices = lax.broadcast_in_dim(
        mat.indices,
        (*shape[:batch_end], mat.nse, n_sparse),
        (*dims[:n_batch], entry_axis, entry_axis + 1),
    )
    # Each sparse dimension has a column of coordinates. Entries repeat along new dimensions, and
    # along dimensions that grow from size one.
    columns: list[Any] = []
    repeats: list[int] = []
    for dim in range(batch_end, sparse_end):
        if dim in old_sparse:
            column = old_sparse.index(dim)
            columns.append(indices[..., column])
            repeats.append(shape[dim] if mat._sparse_shape[column] == 1 else 1)
        else:
            columns.append(zero_column(indices))
            repeats.append(shape[dim])
    if columns:
        indices = jnp.stack(columns, axis=-1)
    is_repeated = math.prod(repeats) != 1
    if is_repeated:
        data = jnp.repeat(data, math.prod(repeats), axis=entry_axis)
        # Coordinates of padding in a dimension of size one must stay out of bounds.
        inside = lax.broadcast_in_dim(
            in_bounds(mat.indices, mat._sparse_shape),
            indices.shape[:-1],
            (*dims[:n_batch], entry_axis),
        )
        indices = _repeated_coordinates(indices, inside, repeats, shape[batch_end:sparse_end])
    return make(
        (data, indices),
        SparseInfo(
            shape,
            mat.indices_sorted and not is_repeated,
            mat.unique_indices and not is_repeated,
        ),
    )


def _sparse_range(mat: BCOO, shape: tuple[int, ...], dims: tuple[int, ...]) -> tuple[int, int]:
    """Returns the first and the last sparse dimension of a broadcast array, the last exclusive."""
    first_dense = mat.n_batch + mat.n_sparse
    if not mat.n_sparse:
        end = dims[first_dense] if mat.n_dense else len(shape)
        return end, end
    return dims[mat.n_batch], dims[first_dense - 1] + 1 if mat.n_dense else len(shape)


def _repeated_coordinates(
    indices: Any, inside: Any, repeats: Sequence[int], sparse_shape: tuple[int, ...]
) -> Any:
    """Returns the coordinates of entries that repeat along sparse dimensions.

    Args:
      indices: the coordinates of the entries, `[*batch, nse, n_sparse]`.
      inside: whether each entry is within bounds, `[*batch, nse]`.
      repeats: the number of repetitions in each sparse dimension.
      sparse_shape: the sizes of the sparse dimensions.

    Returns:
      An array `[*batch, nse * prod(repeats), n_sparse]`.
    """
    offsets = np.indices(repeats).reshape(len(repeats), -1).T.astype(indices.dtype)
    indices = indices[..., None, :]
    repeated = jnp.where(
        inside[..., None, None],
        indices + lax.broadcast_to_rank(offsets, indices.ndim),
        jnp.asarray(padding(sparse_shape, indices)),
    )
    *batch, nse, count, n_sparse = repeated.shape
    return repeated.reshape(*batch, nse * count, n_sparse)


def _check_broadcast(mat: BCOO, shape: tuple[int, ...], dims: tuple[int, ...]) -> None:
    if (
        len(dims) != mat.ndim
        or list(dims) != sorted(set(dims))
        or (dims and dims[-1] >= len(shape))
    ):
        raise ValueError(
            f"broadcast_dimensions must be {mat.ndim} increasing dimensions of the result's "
            f"{len(shape)}, got {dims}"
        )
    for size, dim in zip(mat.shape, dims):
        if size not in (1, shape[dim]):
            raise ValueError(f"an array of shape {mat.shape} cannot be broadcast to {shape}")


def zero_column(indices: Any) -> Any:
    """Returns one column of coordinates, all zero."""
    return jnp.zeros(indices.shape[:-1], indices.dtype)


# ---- bcoo_concatenate ----


def bcoo_concatenate(operands: Sequence[BCOO], *, dimension: int) -> BCOO:
    """Concatenates arrays along a dimension.

    Args:
      operands: the arrays, of one layout and of equal shapes except along ``dimension``.
      dimension: the dimension.

    Returns:
      A `BCOO`.

    Raises:
      ValueError: shapes or layouts differ.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0], [2]])), shape=(3,))
      >>> np.asarray(bcoo_concatenate([mat, mat], dimension=0).todense()).tolist()
      [1, 0, 2, 1, 0, 2]
    """
    if not isinstance(operands, Iterable):
        raise TypeError(f"bcoo_concatenate takes a sequence of BCOO arrays, got {operands!r}")
    operands = list(operands)
    if not operands:
        raise ValueError("bcoo_concatenate: operands must not be empty")
    if not all(isinstance(operand, BCOO) for operand in operands):
        raise ValueError(
            f"bcoo_concatenate: operands must be a sequence of BCOO arrays, got {operands}"
        )
    dimension = operator.index(dimension)
    _check_concatenated(operands, dimension)
    first = operands[0]
    size = sum(operand.shape[dimension] for operand in operands)
    shape = (*first.shape[:dimension], size, *first.shape[dimension + 1 :])
    if dimension < first.n_batch:
        return _concatenate_batches(operands, dimension, shape)
    if dimension < first.n_batch + first.n_sparse:
        buffers = _with_moved_coordinates(operands, dimension, size)
    else:
        buffers = _with_padded_values(operands, dimension, size)
    return make(_joined_entries(buffers, first.n_batch), SparseInfo(shape))


def _check_concatenated(operands: Sequence[BCOO], dimension: int) -> None:
    first = operands[0]
    for operand in operands:
        if operand.n_batch != first.n_batch or operand.n_dense != first.n_dense:
            raise ValueError("bcoo_concatenate requires inputs to have matching nbatch/ndense.")
        rest, same = (
            (*mat.shape[:dimension], *mat.shape[dimension + 1 :]) for mat in (operand, first)
        )
        if operand.ndim != first.ndim or rest != same:
            shapes = ", ".join(str(mat.shape) for mat in operands)
            raise ShapeError(
                "Cannot concatenate arrays with shapes that differ in dimensions other than the "
                f"one being concatenated: dimension {dimension} for shapes {shapes}."
            )
    if not 0 <= dimension < first.ndim:
        raise ValueError(
            f"bcoo_concatenate: dimension {dimension} is out of range for ndim={first.ndim}"
        )


def _with_moved_coordinates(
    operands: Sequence[BCOO], dimension: int, size: int
) -> list[tuple[Any, Any]]:
    """Moves the coordinates of each array behind those of the arrays before it.

    Args:
      operands: the arrays.
      dimension: a sparse dimension.
      size: the sum of the arrays' sizes in this dimension.

    Returns:
      The values and the coordinates of each array.
    """
    buffers, offset = [], 0
    for operand in operands:
        column = dimension - operand.n_batch
        coordinates = operand.indices[..., column]
        # The coordinates of padding are out of range. With the offset they could fall into the
        # next array, so they become the size of the result, which is out of range.
        inside = coordinates < operand.shape[dimension]
        moved = jnp.where(inside, coordinates + offset, size).astype(coordinates.dtype)
        buffers.append((operand.data, operand.indices.at[..., column].set(moved)))
        offset += operand.shape[dimension]
    return buffers


def _with_padded_values(
    operands: Sequence[BCOO], dimension: int, size: int
) -> list[tuple[Any, Any]]:
    """Pads the values of each array by zeros in place of the other arrays.

    The arguments and the result are those of `_with_moved_coordinates`, for a dense dimension.
    """
    buffers, offset = [], 0
    for operand in operands:
        data, own_size = operand.data, operand.shape[dimension]
        widths = [(0, 0, 0)] * data.ndim
        widths[dimension - operand.n_sparse + 1] = (offset, size - offset - own_size, 0)
        zero = jnp.zeros((), data.dtype)
        buffers.append((lax.pad(data, zero, widths), operand.indices))
        offset += own_size
    return buffers


def _joined_entries(buffers: Sequence[tuple[Any, Any]], n_batch: int) -> tuple[Any, Any]:
    """Joins the entries of arrays, after broadcasting their batch dimensions."""
    datas, indices = zip(*buffers, strict=True)

    def joined(arrays: Sequence[Any]) -> Any:
        batch = np.broadcast_shapes(*(array.shape[:n_batch] for array in arrays))
        return jnp.concatenate(
            [jnp.broadcast_to(array, (*batch, *array.shape[n_batch:])) for array in arrays],
            axis=n_batch,
        )

    return joined(datas), joined(indices)


def _concatenate_batches(operands: Sequence[BCOO], dimension: int, shape: tuple[int, ...]) -> BCOO:
    """Joins arrays along a batch dimension; arrays with fewer entries are padded."""
    n_batch = operands[0].n_batch
    nse = max(operand.nse for operand in operands)
    datas, all_indices = [], []
    for operand in operands:
        size = operand.shape[dimension]
        missing = [(0, 0)] * n_batch + [(0, nse - operand.nse)]
        data = jnp.pad(operand.data, [*missing, *[(0, 0)] * operand.n_dense])
        out_of_bounds = jnp.asarray(padding(operand._sparse_shape, operand.indices))
        filler = jnp.broadcast_to(
            out_of_bounds,
            (*operand.indices.shape[:n_batch], nse - operand.nse, operand.n_sparse),
        )
        indices = jnp.concatenate([operand.indices, filler], axis=n_batch)
        batch = (*operand.shape[:dimension], size, *operand.shape[dimension + 1 : n_batch])
        datas.append(jnp.broadcast_to(data, (*batch, *data.shape[n_batch:])))
        all_indices.append(jnp.broadcast_to(indices, (*batch, *indices.shape[n_batch:])))
    buffers = jnp.concatenate(datas, dimension), jnp.concatenate(all_indices, dimension)
    return make(buffers, SparseInfo(shape))


# ---- bcoo_rev and bcoo_squeeze ----


def bcoo_rev(operand: BCOO, dimensions: Sequence[int]) -> BCOO:
    """Reverses elements along dimensions.

    Args:
      operand: the sparse array.
      dimensions: the dimensions.

    Returns:
      A `BCOO`.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1, 2]), np.array([[0], [1]])), shape=(3,))
      >>> np.asarray(bcoo_rev(mat, (0,)).todense()).tolist()
      [0, 2, 1]
    """
    n_batch, n_sparse = operand.n_batch, operand.n_sparse
    dimensions = _canonical(dimensions, operand.ndim, "bcoo_rev")
    batch = tuple(dim for dim in dimensions if dim < n_batch)
    dense = tuple(dim + 1 - n_sparse for dim in dimensions if dim >= n_batch + n_sparse)
    data = lax.rev(operand.data, (*batch, *dense))
    indices = lax.rev(operand.indices, batch)
    sparse = [dim - n_batch for dim in dimensions if n_batch <= dim < n_batch + n_sparse]
    if sparse:
        sizes = padding(operand._sparse_shape, indices)
        mirrored = jnp.where(indices < sizes, sizes - 1 - indices, sizes)
        flags = np.isin(np.arange(n_sparse), sparse)
        indices = jnp.where(flags.reshape(sizes.shape), mirrored, indices)
    return make((data, indices), SparseInfo(operand.shape))


def _canonical(dimensions: Sequence[int], ndim: int, name: str) -> tuple[int, ...]:
    dims = tuple(operator.index(dim) for dim in dimensions)
    if any(not -ndim <= dim < ndim for dim in dims):
        raise ValueError(f"{name}: dimensions {dims} are out of range for {ndim} dimensions")
    dims = tuple(dim % ndim for dim in dims)
    if len(set(dims)) != len(dims):
        raise ValueError(f"{name}: dimensions {dims} must not repeat")
    return dims


def bcoo_squeeze(arr: BCOO, *, dimensions: Sequence[int]) -> BCOO:
    """Returns the array without some dimensions of size one.

    Args:
      arr: the sparse array.
      dimensions: the dimensions to remove.

    Raises:
      ValueError: a dimension's size is not one.

    Example:
      >>> import numpy as np
      >>> mat = BCOO((np.array([1]), np.array([[0, 2]])), shape=(1, 3))
      >>> bcoo_squeeze(mat, dimensions=(0,))
      BCOO(int32[3], nse=1)
    """
    dimensions = _canonical(dimensions, arr.ndim, "bcoo_squeeze")
    wrong = [dim for dim in dimensions if arr.shape[dim] != 1]
    if wrong:
        raise ValueError(
            "cannot select an axis to squeeze out which has size not equal to one, got "
            f"shape={arr.shape} and dimensions={dimensions}"
        )
    n_batch, n_sparse = arr.n_batch, arr.n_sparse
    batch = tuple(dim for dim in dimensions if dim < n_batch)
    dense = tuple(dim + 1 - n_sparse for dim in dimensions if dim >= n_batch + n_sparse)
    columns = [dim - n_batch for dim in dimensions if n_batch <= dim < n_batch + n_sparse]
    data, indices = arr.data, lax.squeeze(arr.indices, batch)
    shape = tuple(size for dim, size in enumerate(arr.shape) if dim not in dimensions)
    if columns:
        kept = [column for column in range(n_sparse) if column not in columns]
        # The coordinates of padding must stay out of bounds.
        inside = jnp.all(arr.indices[..., np.array(columns)] < 1, axis=-1)
        expanded = lax.expand_dims(inside, tuple(range(inside.ndim, data.ndim)))
        data = jnp.where(expanded, data, jnp.zeros((), data.dtype))
        indices = indices[..., np.array(kept, int)]
    data = lax.squeeze(data, (*batch, *dense))
    return make((data, indices), SparseInfo(shape))
