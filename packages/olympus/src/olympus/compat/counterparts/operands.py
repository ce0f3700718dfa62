# SPDX-License-Identifier: Apache-2.0
"""Checks and constants for functions of arrays, under the names of JAX's private modules."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from itertools import count, islice
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import as_array
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_numpy.core import promotion

__all__ = [
    "check_arraylike_or_none",
    "check_for_prngkeys",
    "check_no_float0s",
    "const",
    "convert_element_type",
    "dtype_of",
    "ensure_arraylike",
    "ensure_arraylike_tuple",
    "eye",
    "is_arraylike",
    "is_nan",
    "max_identity",
    "min_identity",
    "one",
    "ones",
    "prod_identity",
    "promote_dtypes_numeric",
    "ranges_like",
    "remaining",
    "sum_identity",
    "tri",
    "try_broadcast_shapes",
    "unbroadcast",
    "zero",
    "zeros",
    "zeros_like_shaped_array",
]


# ---- checks ----


def check_arraylike_or_none(fun_name: str, *args: Any) -> None:
    """Raises TypeError if an argument is neither an array nor a scalar nor None."""
    promotion.check_arraylike(fun_name, *(0 if arg is None else arg for arg in args))


def check_no_float0s(fun_name: str, *args: Any) -> None:
    """Raises TypeError if the dtype of an argument is float0."""
    if any(getattr(arg, "dtype", None) == dtypes.float0 for arg in args):
        dtypes.refuse_float0(fun_name)


def check_for_prngkeys(fun_name: str, *args: Any) -> None:
    """Raises TypeError if some arguments, but not all, are arrays of keys."""
    are_keys = [
        dtypes.issubdtype(getattr(arg, "dtype", np.float32), dtypes.prng_key) for arg in args
    ]
    if any(are_keys) and not all(are_keys):
        raise TypeError(f"{fun_name} does not accept arrays of keys together with other arrays")


def is_arraylike(x: Any) -> bool:
    """Returns whether a value is an array or a scalar."""
    try:
        promotion.check_arraylike("", x)
    except TypeError:
        return False
    return True


def ensure_arraylike(fun_name: str, /, *args: Any) -> Any:
    """Returns arguments as arrays: one array for one argument, and otherwise a tuple.

    Raises:
      TypeError: an argument is neither an array nor a scalar.
    """
    arrays = ensure_arraylike_tuple(fun_name, args)
    return arrays[0] if len(arrays) == 1 else arrays


def ensure_arraylike_tuple(fun_name: str, tup: Sequence[Any]) -> tuple[Array, ...]:
    """Returns a tuple of arrays.

    Raises:
      TypeError: an element is neither an array nor a scalar.
    """
    promotion.check_arraylike(fun_name, *tup)
    return tuple(as_array(promotion.to_array(value)) for value in tup)


_promote_types_of_numeric = promotion.promote_types_of_numeric


def promote_dtypes_numeric(*args: Any) -> list[Array]:
    """Converts operands to their common dtype, or to integers if that is bool."""
    return _promote_types_of_numeric("promote_dtypes", *args)


# ---- constants ----


def dtype_of(x: Any) -> Any:
    """Returns the dtype of a value."""
    return get_aval(x).dtype


def const(example: Any, val: Any) -> Any:
    """Returns a value as a scalar of the type of an example.

    If the example is a Python scalar, the result is a Python scalar of the same type. Otherwise the
    result is a NumPy scalar array of the example's dtype.
    """
    if isinstance(example, bool | int | float | complex):
        return type(example)(val)
    return np.asarray(val, dtype_of(example))


def convert_element_type(
    operand: Any,
    new_dtype: Any = None,
    weak_type: bool = False,
    sharding: Any = None,
    warn_on_complex_to_real_cast: bool = True,
) -> Array:
    """Converts an operand to a dtype and a weak or strong type.

    Args:
      operand: the array or scalar.
      new_dtype: the dtype; None keeps the operand's.
      weak_type: whether the result is weakly typed.
      sharding: the placement of the result; None keeps the operand's.
      warn_on_complex_to_real_cast: whether to warn of a lost imaginary part.
    """
    operand = as_array(operand)
    dtype = operand.dtype if new_dtype is None else dtypes.dtype(new_dtype)
    if warn_on_complex_to_real_cast:
        promotion.warn_of_lost_parts(operand, dtype)
    converted = lax.convert_dtype(operand, dtype, weak_type)
    return converted if sharding is None else lax.full_like(converted, converted, sharding=sharding)


def zeros(
    x: Any, *, fill_value: Any = 0, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Array:
    """Returns an array of zeros of the shape and the dtype of another."""
    return lax.full_like(x, fill_value, dtype, shape, sharding=sharding)


def ones(
    x: Any, *, fill_value: Any = 1, dtype: Any = None, shape: Any = None, sharding: Any = None
) -> Array:
    """Returns an array of ones of the shape and the dtype of another."""
    return lax.full_like(x, fill_value, dtype, shape, sharding=sharding)


def zero(x: Any) -> Array:
    """Returns the scalar zero of the dtype of an array."""
    return lax.full_like(x, 0, shape=())


def one(x: Any) -> Array:
    """Returns the scalar one of the dtype of an array."""
    return lax.full_like(x, 1, shape=())


def zeros_like_shaped_array(aval: ShapedArray) -> Array:
    """Returns zeros of a type."""
    return lax.full(aval.shape, 0, aval.dtype)


def eye(dtype: Any, shape: Sequence[int], offset: int = 0) -> Array:
    """Returns a matrix with ones on one diagonal."""
    rows, columns = (lax.broadcasted_iota(np.int32, shape, axis) for axis in (0, 1))
    return lax.convert_element_type(lax.eq(rows + np.int32(offset), columns), dtype)


def tri(dtype: Any, shape: Sequence[int], offset: int) -> Array:
    """Returns a matrix with ones on and below one diagonal."""
    rows, columns = (lax.broadcasted_iota(np.int32, shape, axis) for axis in (0, 1))
    return lax.convert_element_type(lax.ge(rows + np.int32(offset), columns), dtype)


def is_nan(x: Any) -> Array:
    """Returns elementwise whether numbers are NaN."""
    return lax.ne(x, x)


def _bound(dtype: Any, smallest: bool) -> np.ndarray:
    if dtypes.issubdtype(dtype, np.inexact):
        return np.array(-np.inf if smallest else np.inf, dtype)
    if dtypes.issubdtype(dtype, np.bool_):
        return np.array(not smallest, np.bool_)
    bounds = dtypes.iinfo(dtype)
    return np.array(bounds.min if smallest else bounds.max, dtype)


def max_identity(dtype: Any) -> np.ndarray:
    """Returns the neutral element of the maximum: the smallest value of the given dtype."""
    return _bound(dtype, smallest=True)


def min_identity(dtype: Any) -> np.ndarray:
    """Returns the neutral element of the minimum: the greatest value of the given dtype."""
    return _bound(dtype, smallest=False)


def sum_identity(dtype: Any) -> np.ndarray:
    """Returns the neutral element of sums: zero, of the given dtype."""
    return np.array(0, dtype)


def prod_identity(dtype: Any) -> np.ndarray:
    """Returns the neutral element of products: one, of the given dtype."""
    return np.array(1, dtype)


# ---- shapes ----


def try_broadcast_shapes(*shapes: Sequence[int], name: str) -> tuple[int, ...]:
    """Returns the common shape of operands of one rank.

    Raises:
      TypeError: the shapes differ in a dimension where none of them is one.
    """
    try:
        return lax.broadcast_shapes(*shapes)
    except ValueError:
        listed = ", ".join(map(str, map(tuple, shapes)))
        raise TypeError(f"{name} got incompatible shapes for broadcasting: {listed}.") from None


def unbroadcast(aval: ShapedArray, x: Array) -> Array:
    """Sums over the dimensions along which a value of a type was broadcast."""
    shape = np.shape(x)
    if shape == aval.shape:
        return x
    new = len(shape) - len(aval.shape)
    stretched = [new + i for i, size in enumerate(aval.shape) if size != shape[new + i]]
    return lax.reshape(lax.reduce_sum(x, (*range(new), *stretched)), aval.shape)


# ---- positions ----


def remaining(original: Sequence[Any], *removed_lists: Collection[Any]) -> list[Any]:
    """Returns the elements that are in none of the given lists.

    Example:
      >>> remaining(range(4), [1], [3])
      [0, 2]
    """
    return [
        operand for operand in original if not any(operand in removed for removed in removed_lists)
    ]


def ranges_like(*xs: Sequence[Any]) -> Iterator[Iterator[int]]:
    """Yields consecutive ranges with the lengths of the given lists.

    Example:
      >>> [list(positions) for positions in ranges_like("ab", "c")]
      [[0, 1], [2]]
    """
    positions = count()
    for x in xs:
        yield iter([*islice(positions, len(x))])
