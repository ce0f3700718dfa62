# SPDX-License-Identifier: Apache-2.0
"""Methods and operators of `BCOO`, made from functions that use the class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir.diagnostics.traceback_filtering import boundary_members
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array

from ..bcoo.array import BCOO
from ..bcoo.batching import map_batches
from ..bcoo.conversion import bcoo_fromdense, bcoo_todense
from ..bcoo.layouts import bcoo_update_layout
from ..bcoo.ordering import bcoo_sort_indices, bcoo_sum_duplicates, without_duplicates
from ..bcoo.shaping import bcoo_transpose
from ..sparsification.transform import sparsify

__all__ = ["attach", "iterate", "operator"]


# ---- from and to other arrays ----


def _fromdense(
    cls: type[BCOO],
    mat: ArrayLike,
    *,
    nse: int | None = None,
    index_dtype: DTypeLike = np.int32,
    n_dense: int = 0,
    n_batch: int = 0,
) -> BCOO:
    """Makes a sparse array from a dense array; see `bcoo_fromdense`."""
    return bcoo_fromdense(mat, nse=nse, index_dtype=index_dtype, n_dense=n_dense, n_batch=n_batch)


def _from_scipy_sparse(
    cls: type[BCOO], mat: Any, *, index_dtype: Any = None, n_dense: int = 0, n_batch: int = 0
) -> BCOO:
    """Makes a sparse array from an array of `scipy.sparse`.

    Args:
      mat: the array.
      index_dtype: the dtype of coordinates; int32 if None.
      n_dense: must be zero.
      n_batch: must be zero.
    """
    if n_dense != 0 or n_batch != 0:
        raise NotImplementedError("BCOO.fromscipy with nonzero n_dense/n_batch")
    entries = mat.tocoo()
    coordinates = getattr(entries, "coords", None) or (entries.row, entries.col)
    dtype = np.dtype(np.int32 if index_dtype is None else index_dtype)
    indices = jnp.asarray(np.stack(coordinates, axis=1).astype(dtype))
    return cls((jnp.asarray(entries.data), indices), shape=mat.shape)


def _todense(self: BCOO) -> Array:
    """Returns the dense array."""
    return bcoo_todense(self)


# ---- layout and order ----


def _update_layout(
    self: BCOO,
    *,
    n_batch: int | None = None,
    n_dense: int | None = None,
    on_inefficient: str | None = "error",
) -> BCOO:
    """Returns the same array in another layout; see `bcoo_update_layout`."""
    return bcoo_update_layout(self, n_batch=n_batch, n_dense=n_dense, on_inefficient=on_inefficient)


def _sum_duplicates(self: BCOO, nse: int | None = None, remove_zeros: bool = True) -> BCOO:
    """Returns the array with entries at equal coordinates added up.

    Args:
      nse: the number of entries of the result; see `bcoo_sum_duplicates`.
      remove_zeros: whether entries that are zero are left out.
    """
    if remove_zeros:
        return bcoo_sum_duplicates(self, nse=nse)
    return without_duplicates(self, nse)


def _sort_indices(self: BCOO) -> BCOO:
    """Returns the array with its entries in order."""
    return bcoo_sort_indices(self)


def _transpose(self: BCOO, axes: Sequence[int] | None = None) -> BCOO:
    """Returns the array with its dimensions in another order; by default in reverse order."""
    order = range(self.ndim)[::-1] if axes is None else [axis % self.ndim for axis in axes]
    return bcoo_transpose(self, permutation=tuple(order))


# ---- methods that call NumPy's functions ----


def _reshape(self: BCOO, *args: Any, **kwargs: Any) -> BCOO:
    """Returns the array in another shape; see `olympus.numpy.reshape`."""
    shape = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
    return sparsify(lambda array: jnp.reshape(array, shape, **kwargs))(self)


def _astype(self: BCOO, *args: Any, **kwargs: Any) -> BCOO:
    """Returns the array with another dtype."""
    return sparsify(lambda array: array.astype(*args, **kwargs))(self)


def _sum(self: BCOO, *args: Any, **kwargs: Any) -> Any:
    """Returns sums along axes; the sum over all axes is a dense scalar. See `olympus.numpy.sum`."""
    return sparsify(lambda array: jnp.sum(array, *args, **kwargs))(self)


def _getitem(self: BCOO, index: Any) -> Any:
    return sparsify(lambda array: array[index])(self)


def iterate(self: Any) -> Iterator[Any]:
    """Returns an iterator over the slices of a sparse array along its first dimension."""
    if not self.shape:
        raise TypeError("iteration over a 0-d array")
    return (self[position] for position in range(self.shape[0]))


def operator(fun: Any, *, reflected: bool = False) -> Any:
    """Makes an operator from a function; ``reflected`` swaps its two operands."""
    sparsified = sparsify(fun)

    def forward(self: Any, *others: Any) -> Any:
        return sparsified(self, *map(_operand, others))

    def backward(self: Any, other: Any) -> Any:
        return sparsified(_operand(other), self)

    return backward if reflected else forward


def _operand(value: Any) -> Any:
    """Returns the operand of an operator; converts nested sequences to arrays."""
    return jnp.asarray(value) if isinstance(value, list | tuple) else value


def _power(self: BCOO, exponent: Any) -> Any:
    # The exponent must be concrete, because zeros stay zero only if it is positive.
    return sparsify(lambda array: jnp.power(array, exponent))(self)


def attach(cls: type[Any], methods: dict[str, Any]) -> None:
    """Sets the methods of a class."""
    for name, method in methods.items():
        if not isinstance(method, classmethod):
            method.__name__ = name
            method.__qualname__ = f"{cls.__name__}.{name}"
    for name, method in boundary_members(methods).items():
        setattr(cls, name, method)


attach(
    BCOO,
    {
        "fromdense": classmethod(_fromdense),
        "from_scipy_sparse": classmethod(_from_scipy_sparse),
        "todense": _todense,
        "update_layout": _update_layout,
        "sum_duplicates": _sum_duplicates,
        "sort_indices": _sort_indices,
        "transpose": _transpose,
        "reshape": _reshape,
        "astype": _astype,
        "sum": _sum,
        "__getitem__": _getitem,
        "__iter__": iterate,
        "__pow__": _power,
        "__rpow__": operator(jnp.power, reflected=True),
        "__neg__": operator(jnp.negative),
        "__pos__": operator(jnp.positive),
        "__abs__": operator(jnp.abs),
        "__add__": operator(jnp.add),
        "__radd__": operator(jnp.add, reflected=True),
        "__sub__": operator(jnp.subtract),
        "__rsub__": operator(jnp.subtract, reflected=True),
        "__mul__": operator(jnp.multiply),
        "__rmul__": operator(jnp.multiply, reflected=True),
        "__truediv__": operator(jnp.divide),
        "__rtruediv__": operator(jnp.divide, reflected=True),
        "__matmul__": operator(jnp.matmul),
        "__rmatmul__": operator(jnp.matmul, reflected=True),
        "__eq__": operator(jnp.equal),
        "__ne__": operator(jnp.not_equal),
        "__lt__": operator(jnp.less),
        "__le__": operator(jnp.less_equal),
        "__gt__": operator(jnp.greater),
        "__ge__": operator(jnp.greater_equal),
    },
)

map_batches(BCOO)
