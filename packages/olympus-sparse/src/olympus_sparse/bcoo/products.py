# SPDX-License-Identifier: Apache-2.0
"""Products of BCOO and dense arrays.

`bcoo_dot_general` gathers a factor from the dense operand for each entry, multiplies the entry's
value by the factor, and adds up the products. `bcoo_dot_general_sampled` computes the elements of a
dense product at given coordinates only. These elements are the derivatives of a sparse product with
respect to the values of the entries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as jnp
from olympus_autodiff import is_undefined_primal, transpose_rules
from olympus_batching import batching_rules
from olympus_batching.dimensions import materialize
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.promotion import promote_dtypes

from ..core.base import SparseInfo
from ..core.entries import add_up, look_up, over_batches
from ..core.primitives import (
    batched_expansion,
    define_multilinear_jvp,
    sparse_primitive,
    transposed_expansion,
)
from .array import BCOO, layout_of, make
from .batching import batched_info, lead
from .conversion import bcoo_extract_p, sum_to
from .layouts import batch_as_sparse

__all__ = ["bcoo_dot_general_p", "bcoo_dot_general_sampled", "bcoo_dot_general_sampled_p"]

DotDimensionNumbers = tuple[
    tuple[Sequence[int], Sequence[int]], tuple[Sequence[int], Sequence[int]]
]


class Pairing(NamedTuple):
    """Dimension numbers of a product: pairs of dimensions, and free dimensions."""

    contracted: list[tuple[int, int]]
    batch: list[tuple[int, int]]
    lhs_free: list[int]
    rhs_free: list[int]


def pairing(numbers: Any, lhs_ndim: int, rhs_ndim: int) -> Pairing:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    contracted = list(zip(lhs_contract, rhs_contract, strict=True))
    batch = list(zip(lhs_batch, rhs_batch, strict=True))
    lhs_used = {lhs for lhs, _ in (*contracted, *batch)}
    rhs_used = {rhs for _, rhs in (*contracted, *batch)}
    return Pairing(
        contracted,
        batch,
        [dim for dim in range(lhs_ndim) if dim not in lhs_used],
        [dim for dim in range(rhs_ndim) if dim not in rhs_used],
    )


def canonical_numbers(numbers: Any, lhs_shape: Sequence[int], rhs_shape: Sequence[int]) -> Any:
    """Returns dimension numbers as tuples of integers.

    Raises:
      TypeError: the dimension numbers do not fit the shapes.
    """
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = (
        tuple(tuple(int(dim) for dim in dims) for dims in pair) for pair in numbers
    )
    for kind, lhs_dims, rhs_dims in (
        ("contracting", lhs_contract, rhs_contract),
        ("batch", lhs_batch, rhs_batch),
    ):
        if len(lhs_dims) != len(rhs_dims):
            raise TypeError(
                f"dot_general requires equal numbers of lhs and rhs {kind} dimensions, got "
                f"{lhs_dims} and {rhs_dims}."
            )
        for dims, shape in ((lhs_dims, lhs_shape), (rhs_dims, rhs_shape)):
            if any(not 0 <= dim < len(shape) for dim in dims):
                raise TypeError(
                    f"dot_general requires {kind} dimensions to be nonnegative and less than the "
                    f"number of axes of the operand, got {dims} for shape {tuple(shape)}."
                )
        lhs_sizes = tuple(lhs_shape[dim] for dim in lhs_dims)
        rhs_sizes = tuple(rhs_shape[dim] for dim in rhs_dims)
        if lhs_sizes != rhs_sizes:
            raise TypeError(
                f"dot_general requires {kind} dimensions to have the same shape, got {lhs_sizes} "
                f"and {rhs_sizes}."
            )
    for dims in ((*lhs_contract, *lhs_batch), (*rhs_contract, *rhs_batch)):
        if len(set(dims)) != len(dims):
            raise TypeError(f"dot_general requires dimensions to be distinct, got {dims}.")
    return ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))


def _by_one(dims: Sequence[int]) -> tuple[int, ...]:
    """Adds one to each dimension number, because an operand gets a new leading dimension."""
    return tuple(dim + 1 for dim in dims)


def _contract(lhs: Any, rhs: Any, numbers: Any, dtype: Any) -> Any:
    if lhs.dtype != rhs.dtype:
        lhs, rhs = promote_dtypes(lhs, rhs)
    return lax.dot_general(lhs, rhs, numbers, preferred_element_type=dtype)


# ---- bcoo_dot_general ----


@sparse_primitive("bcoo_dot_general", linear_in=(0, 2))
def bcoo_dot_general_p(
    lhs_data: Any,
    lhs_indices: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
    lhs_spinfo: SparseInfo,
) -> Any:
    lhs = make((lhs_data, lhs_indices), lhs_spinfo)
    lhs, numbers = _without_contracted_batches(lhs, dimension_numbers)
    pairs = pairing(numbers, lhs.ndim, rhs.ndim)
    n_batch = lhs.n_batch
    rhs_of_lhs = {**dict(pairs.batch), **dict(pairs.contracted)}
    # rhs gets a leading dimension for each batch dimension of lhs; dimensions of size one
    # broadcast.
    paired = {rhs_of_lhs[dim]: dim for dim in range(n_batch) if dim in rhs_of_lhs}
    rest = [dim for dim in range(rhs.ndim) if dim not in paired]
    rhs = lax.transpose(rhs, (*sorted(paired, key=lambda dim: paired[dim]), *rest))
    rhs = lax.expand_dims(rhs, tuple(d for d in range(n_batch) if d not in paired.values()))

    kernel = _ProductOfBatch(lhs, pairs, rest, np.dtype(preferred_element_type))
    out = over_batches(kernel, n_batch, lhs.data, lhs.indices, rhs)
    batch_shape = lhs.shape[:n_batch]
    out = jnp.broadcast_to(out, (*batch_shape, *out.shape[n_batch:]))
    labels = [("lhs", dim) for dim in range(n_batch)] + kernel.labels
    result_labels = [
        *(("lhs", dim) for dim, _ in pairs.batch),
        *(("lhs", dim) for dim in pairs.lhs_free),
        *(("rhs", dim) for dim in pairs.rhs_free),
    ]
    return lax.transpose(out, tuple(labels.index(label) for label in result_labels))


def _without_contracted_batches(lhs: BCOO, numbers: Any) -> tuple[BCOO, Any]:
    """Makes contracted batch dimensions of lhs its first sparse dimensions."""
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = numbers
    n_batch = lhs.n_batch
    contracted = [dim for dim in range(n_batch) if dim in lhs_contract]
    if not contracted:
        return lhs, numbers
    kept = [dim for dim in range(n_batch) if dim not in contracted]
    order = (*kept, *contracted, *range(n_batch, lhs.ndim))
    buffers = (
        lax.transpose(lhs.data, (*order[:n_batch], *range(n_batch, lhs.data.ndim))),
        lax.transpose(lhs.indices, (*order[:n_batch], n_batch, n_batch + 1)),
    )
    lhs = make(buffers, SparseInfo(tuple(lhs.shape[dim] for dim in order)))
    for _ in contracted:
        lhs = batch_as_sparse(lhs)
    index = {dim: position for position, dim in enumerate(order)}
    lhs_contract, lhs_batch = (
        tuple(index[dim] for dim in dims) for dims in (lhs_contract, lhs_batch)
    )
    return lhs, ((lhs_contract, rhs_contract), (lhs_batch, rhs_batch))


class _ProductOfBatch:
    """Product of one batch, which `over_batches` applies to each batch.

    ``labels`` has a pair for each dimension of the result: the operand that the dimension comes
    from, ``"lhs"`` or ``"rhs"``, and the dimension's position in this operand.
    """

    def __init__(self, lhs: BCOO, pairs: Pairing, rhs_dims: list[int], dtype: Any) -> None:
        self.dtype = dtype
        n_batch, n_sparse = lhs.n_batch, lhs.n_sparse
        sparse = range(n_batch, n_batch + n_sparse)
        dense_start = n_batch + n_sparse
        index = {dim: position for position, dim in enumerate(rhs_dims)}
        contracted, batch = pairs.contracted, pairs.batch
        # First the pairs of dimensions whose coordinates select elements of rhs, then the sparse
        # dimensions that the result keeps.
        looked_up = [(l, r) for l, r in (*contracted, *batch) if l in sparse]
        self.look_up_columns = [l - n_batch for l, _ in looked_up]
        self.added = [d for d in sparse if d not in dict(contracted)]
        self.add_columns = [d - n_batch for d in self.added]
        self.add_shape = tuple(lhs.shape[d] for d in self.added)
        # If coordinates are sorted, so are their first columns, but not other columns.
        self.in_order = lhs.indices_sorted and self.add_columns == list(range(len(self.added)))
        dense_contracted = [(l, r) for l, r in contracted if l >= dense_start]
        dense_batch = [(l, r) for l, r in batch if l >= dense_start]
        order = [
            *(r for _, r in looked_up),
            *(r for _, r in dense_contracted),
            *(r for _, r in dense_batch),
            *pairs.rhs_free,
        ]
        self.rhs_order = tuple(index[r] for r in order)
        # Dimensions of data, [nse, *dense], and of the factors from rhs, [nse, *dense, *free].
        count = len(dense_contracted)
        self.contract = (
            [l - dense_start + 1 for l, _ in dense_contracted],
            list(range(1, 1 + count)),
        )
        self.batch = (
            [l - dense_start + 1 for l, _ in dense_batch],
            list(range(1 + count, 1 + count + len(dense_batch))),
        )
        dense_free = [d for d in pairs.lhs_free if d >= dense_start]
        self.labels = [
            *(("lhs", d) for d in self.added),
            *(("lhs", l) for l, _ in dense_batch),
            *(("lhs", d) for d in dense_free),
            *(("rhs", d) for d in pairs.rhs_free),
        ]

    def __call__(self, data: Any, indices: Any, rhs: Any) -> Any:
        if data.dtype == np.bool_ and rhs.dtype == np.bool_ and self.dtype == np.bool_:
            integers = self.with_dtype(np.dtype(np.int32))
            return integers(data.astype(np.int32), indices, rhs.astype(np.int32)) != 0
        factors = lax.transpose(rhs, self.rhs_order)
        factors = look_up(factors, indices[:, np.array(self.look_up_columns, int)])
        (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = self.contract, self.batch
        if not self.add_columns:
            numbers = (([0, *lhs_contract], [0, *rhs_contract]), (lhs_batch, rhs_batch))
            return _contract(data, factors, numbers, self.dtype)
        numbers = ((lhs_contract, rhs_contract), ([0, *lhs_batch], [0, *rhs_batch]))
        products = _contract(data, factors, numbers, self.dtype)
        positions = indices[:, np.array(self.add_columns)]
        return add_up(products, positions, self.add_shape, indices_sorted=self.in_order)

    def with_dtype(self, dtype: Any) -> _ProductOfBatch:
        other = object.__new__(_ProductOfBatch)
        other.__dict__.update(self.__dict__, dtype=dtype)
        return other


define_multilinear_jvp(bcoo_dot_general_p, 0, 2)


@transpose_rules.define(bcoo_dot_general_p)
def _bcoo_dot_general_transpose(
    cotangent: Any, lhs_data: Any, lhs_indices: Any, rhs: Any, **params: Any
) -> list[Any]:
    if is_undefined_primal(lhs_indices):
        raise ValueError("Cannot transpose with respect to sparse indices")
    spinfo, numbers = params["lhs_spinfo"], params["dimension_numbers"]
    lhs = lhs_data.aval if is_undefined_primal(lhs_data) else lhs_data
    layout = layout_of(lhs, lhs_indices, spinfo.shape)
    rhs_ndim = rhs.aval.ndim if is_undefined_primal(rhs) else rhs.ndim
    pairs = pairing(numbers, len(spinfo.shape), rhs_ndim)
    simple = not layout.n_dense and not any(lhs < layout.n_batch for lhs, _ in pairs.contracted)
    dtypes = {np.dtype(lhs.dtype), np.dtype(cotangent.dtype)}
    if not simple or len(dtypes) > 1:
        return transposed_expansion(
            bcoo_dot_general_p, cotangent, lhs_data, lhs_indices, rhs, **params
        )
    if is_undefined_primal(lhs_data):
        return [_cotangent_of_data(cotangent, lhs_data.aval, lhs_indices, rhs, pairs), None, None]
    return [None, None, _cotangent_of_rhs(cotangent, lhs_data, lhs_indices, rhs, pairs, spinfo)]


def _cotangent_of_data(cotangent: Any, aval: Any, indices: Any, rhs: Any, pairs: Pairing) -> Any:
    """Contracts the cotangent and rhs over rhs's free dimensions, at the coordinates of lhs."""
    count_batch, count_free = len(pairs.batch), len(pairs.lhs_free)
    ct_free = range(count_batch + count_free, cotangent.ndim)
    # Dimensions of the product: batch, free dimensions of lhs, then contracted dimensions in the
    # order of rhs.
    contracted = sorted(pairs.contracted, key=lambda pair: pair[1])
    labels = [*(l for l, _ in pairs.batch), *pairs.lhs_free, *(l for l, _ in contracted)]
    order = sorted(range(len(labels)), key=lambda position: labels[position])
    numbers = (
        (tuple(ct_free), tuple(pairs.rhs_free)),
        (tuple(range(count_batch)), tuple(r for _, r in pairs.batch)),
    )
    if order == sorted(order):
        values = bcoo_dot_general_sampled_p.bind(cotangent, rhs, indices, dimension_numbers=numbers)
        return sum_to(values, aval.shape).astype(aval.dtype)
    # The coordinates are in the order of lhs, so their columns and batches are reordered.
    n_batch = indices.ndim - 2
    lhs_of = labels
    if [dim for dim in lhs_of if dim < n_batch] == lhs_of[:n_batch]:
        batch_order = lhs_of[:n_batch]
        columns = [dim - n_batch for dim in lhs_of[n_batch:]]
        moved = lax.transpose(indices, (*batch_order, n_batch, n_batch + 1))
        values = bcoo_dot_general_sampled_p.bind(
            cotangent, rhs, moved[..., np.array(columns, int)], dimension_numbers=numbers
        )
        inverse = np.argsort(batch_order).tolist()
        values = lax.transpose(values, (*inverse, n_batch))
        return sum_to(values, aval.shape).astype(aval.dtype)
    # A batch dimension follows a sparse dimension: the whole product is computed, then sampled.
    product = _contract(cotangent, rhs, numbers, aval.dtype)
    product = lax.transpose(product, tuple(order))
    values = bcoo_extract_p.bind(indices, product, assume_unique=True)
    return sum_to(values, aval.shape)


def _cotangent_of_rhs(
    cotangent: Any, data: Any, indices: Any, rhs: Any, pairs: Pairing, spinfo: SparseInfo
) -> Any:
    """Contracts lhs and the cotangent over the free dimensions of lhs."""
    count = len(pairs.batch)
    numbers = (
        (tuple(pairs.lhs_free), tuple(range(count, count + len(pairs.lhs_free)))),
        (tuple(l for l, _ in pairs.batch), tuple(range(count))),
    )
    out = bcoo_dot_general_p.bind(
        data,
        indices,
        cotangent,
        dimension_numbers=numbers,
        preferred_element_type=np.dtype(rhs.aval.dtype),
        lhs_spinfo=spinfo,
    )
    rhs_of_lhs = dict(pairs.contracted)
    remaining = sorted(rhs_of_lhs)
    labels = [*(r for _, r in pairs.batch), *(rhs_of_lhs[l] for l in remaining), *pairs.rhs_free]
    return lax.transpose(out, tuple(np.argsort(labels).tolist()))


@batching_rules.define(bcoo_dot_general_p)
def _bcoo_dot_general_batching(
    axis_size: int, args: Any, batch_dims: Any, *, dimension_numbers: Any, **params: Any
) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    data, indices = lead(args[:2], batch_dims[:2])
    info = batched_info(params["lhs_spinfo"], axis_size)
    rhs = args[2] if batch_dims[2] is None else lead(args[2:], batch_dims[2:])[0]
    shared = batch_dims[0] is None and batch_dims[1] is None
    options = {"preferred_element_type": params["preferred_element_type"]}
    if shared:
        # Only rhs is batched, so its batch dimension becomes a free dimension.
        numbers = ((lhs_contract, _by_one(rhs_contract)), (lhs_batch, _by_one(rhs_batch)))
        out = bcoo_dot_general_p.bind(
            *args[:2], rhs, dimension_numbers=numbers, lhs_spinfo=params["lhs_spinfo"], **options
        )
        free = len(params["lhs_spinfo"].shape) - len(lhs_contract) - len(lhs_batch)
        return out, len(lhs_batch) + free
    if batch_dims[2] is None:
        numbers = ((_by_one(lhs_contract), rhs_contract), (_by_one(lhs_batch), rhs_batch))
        out_dim = len(lhs_batch)
    else:
        numbers = (
            (_by_one(lhs_contract), _by_one(rhs_contract)),
            ((0, *_by_one(lhs_batch)), (0, *_by_one(rhs_batch))),
        )
        out_dim = 0
    out = bcoo_dot_general_p.bind(
        data, indices, rhs, dimension_numbers=numbers, lhs_spinfo=info, **options
    )
    return out, out_dim


# ---- bcoo_dot_general_sampled ----


@sparse_primitive("bcoo_dot_general_sampled", linear_in=(0, 1))
def bcoo_dot_general_sampled_p(A: Any, B: Any, indices: Any, *, dimension_numbers: Any) -> Any:
    pairs = pairing(dimension_numbers, A.ndim, B.ndim)
    n_batch, n_sparse = indices.ndim - 2, indices.shape[-1]
    # For each dimension of the product, the corresponding dimension of A and of B.
    positions: list[tuple[int | None, int | None]] = [
        *pairs.batch,
        *((dim, None) for dim in pairs.lhs_free),
        *((None, dim) for dim in pairs.rhs_free),
    ]
    batch, sparse, dense = (
        positions[:n_batch],
        positions[n_batch : n_batch + n_sparse],
        positions[n_batch + n_sparse :],
    )
    dtype = jnp.result_type(A.dtype, B.dtype)

    # Brings A or B into the order [*batch, *looked up, *contracted, *shared dense, *own dense].
    def arranged(array: Any, side: int) -> tuple[Any, list[int]]:
        lead_dims = [position[side] for position in batch]
        columns = [column for column, position in enumerate(sparse) if position[side] is not None]
        order = [
            *(dim for dim in lead_dims if dim is not None),
            *(sparse[column][side] for column in columns),
            *(pair[side] for pair in pairs.contracted),
            *(position[side] for position in dense if None not in position),
            *(position[side] for position in dense if position[1 - side] is None),
        ]
        missing = tuple(at for at, dim in enumerate(lead_dims) if dim is None)
        return lax.expand_dims(lax.transpose(array, order), missing), columns

    lhs, lhs_columns = arranged(A, 0)
    rhs, rhs_columns = arranged(B, 1)
    count = len(pairs.contracted)
    contract = list(range(1, 1 + count))
    shared = [0, *range(1 + count, 1 + count + sum(None not in position for position in dense))]

    def of_batch(indices: Any, lhs: Any, rhs: Any) -> Any:
        lhs = look_up(lhs, indices[:, np.array(lhs_columns, int)])
        rhs = look_up(rhs, indices[:, np.array(rhs_columns, int)])
        return _contract(lhs, rhs, ((contract, contract), (shared, shared)), dtype)

    return over_batches(of_batch, n_batch, indices, lhs, rhs)


define_multilinear_jvp(bcoo_dot_general_sampled_p, 0, 1)


@transpose_rules.define(bcoo_dot_general_sampled_p)
def _bcoo_dot_general_sampled_transpose(
    cotangent: Any, A: Any, B: Any, indices: Any, *, dimension_numbers: Any
) -> list[Any]:
    if is_undefined_primal(indices):
        raise ValueError("Cannot transpose with respect to sparse indices")
    return transposed_expansion(
        bcoo_dot_general_sampled_p, cotangent, A, B, indices, dimension_numbers=dimension_numbers
    )


@batching_rules.define(bcoo_dot_general_sampled_p)
def _bcoo_dot_general_sampled_batching(
    axis_size: int, args: Any, batch_dims: Any, *, dimension_numbers: Any
) -> Any:
    (lhs_contract, rhs_contract), (lhs_batch, rhs_batch) = dimension_numbers
    if batch_dims[0] is None and batch_dims[1] is None:
        return batched_expansion(
            bcoo_dot_general_sampled_p,
            axis_size,
            args,
            batch_dims,
            dimension_numbers=dimension_numbers,
        )
    A, B = (
        materialize(arg, axis_size, dim) for arg, dim in zip(args[:2], batch_dims[:2], strict=True)
    )
    (indices,) = lead(args[2:], batch_dims[2:])
    numbers = (
        (_by_one(lhs_contract), _by_one(rhs_contract)),
        ((0, *_by_one(lhs_batch)), (0, *_by_one(rhs_batch))),
    )
    return bcoo_dot_general_sampled_p.bind(A, B, indices, dimension_numbers=numbers), 0


def bcoo_dot_general_sampled(
    A: ArrayLike, B: ArrayLike, indices: ArrayLike, *, dimension_numbers: DotDimensionNumbers
) -> Array:
    """Computes elements of a product of dense arrays.

    Args:
      A: the left operand.
      B: the right operand.
      indices: the coordinates of the elements, of shape (*batch, nse, n_sparse). The first
        dimensions of the product are the batch dimensions. Its last dimensions, which have no
        coordinates, are the dense dimensions.
      dimension_numbers: as for `lax.dot_general`.

    Returns:
      The elements, of shape (*batch, nse, *dense); zero at coordinates out of bounds.

    Example:
      >>> import numpy as np
      >>> A = np.arange(4.0, dtype=np.float32).reshape(2, 2)
      >>> places = np.array([[0, 0], [1, 1]])
      >>> numbers = (([1], [0]), ([], []))
      >>> np.asarray(bcoo_dot_general_sampled(A, A, places, dimension_numbers=numbers)).tolist()
      [2.0, 11.0]
    """
    A, B, indices = jnp.asarray(A), jnp.asarray(B), jnp.asarray(indices)
    numbers = canonical_numbers(dimension_numbers, A.shape, B.shape)
    return bcoo_dot_general_sampled_p.bind(A, B, indices, dimension_numbers=numbers)
