# SPDX-License-Identifier: Apache-2.0
"""Evenly spaced numbers, and grids of them."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import InconclusiveDimensionOperation
from olympus_ir.lax.core.sizes import max_dim
from olympus_ir.loading import deferred
from olympus_ir.programs.tracing import Tracer, concrete_or_error, is_constant_dim
from olympus_ir.programs.wide_constants import wide_constants_allowed
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DeviceLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array

from ..arrays.creation import convert_exactly, placed, shape_of
from ..arrays.shaping import moveaxis
from ..core.axes import canonical_axis
from ..core.compilation import compiled
from ..core.promotion import (
    broadcast_shapes,
    check_arraylike,
    check_ranks,
    convert,
    ensure_array,
    promote_shapes,
    result_type_of,
    spread,
)
from ..elementwise.transcendental import log10

if TYPE_CHECKING:
    import olympus_batching
else:
    olympus_batching = deferred("olympus_batching", milliseconds=11.0)

__all__ = [
    "arange",
    "fromfunction",
    "geomspace",
    "indices",
    "linspace",
    "logspace",
    "meshgrid",
]


# ---- arange ----


def arange(
    start: ArrayLike,
    stop: ArrayLike | None = None,
    step: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
    *,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns evenly spaced numbers from ``start`` up to ``stop``, which is excluded.

    Args:
      start: the first number. If it is the only argument, it is the stop, and the first number is
        0.
      stop: the end, which is excluded.
      step: the distance; 1 by default.
      dtype: the dtype; that of the arguments by default.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array of one dimension.

    Raises:
      TypeError: if the stop is None.
      ZeroDivisionError: if ``step`` is zero.

    Example:
      >>> arange(2, 10, 3)
      Array([2, 5, 8], dtype=int32)
    """
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "arange")
    if stop is None and step is None and type(start) is int and dtype is None:
        result = _iota(start if start > 0 else 0, dtypes.default_int_dtype())
        return placed(result, device, out_sharding)
    # a single bound is the stop
    bounds = (None, start, step) if stop is None else (start, stop, step)
    if not all(map(is_constant_dim, bounds)):
        return placed(_symbolic_range(*bounds, dtype), device, out_sharding)
    names = ("start", "stop", "step")
    checked_bounds = [_bound(*pair) for pair in zip(names, bounds, strict=True)]
    first, end, distance = checked_bounds
    if end is None:
        raise TypeError("arange needs a stop, got None")
    if dtype is None:
        dtype, _ = result_type_of(*(value for value in checked_bounds if value is not None))
        dtype = dtypes.canonicalize_dtype(dtype)
    if dtype == np.bool_:
        raise TypeError("arange has no numbers of dtype bool; compare the numbers with zero")
    first, distance = 0 if first is None else first, 1 if distance is None else distance
    if distance == 0:
        raise ZeroDivisionError("arange: `step` must not be zero")
    size = max(0, math.ceil((end - first) / distance))
    if first == 0 and distance == 1:
        result = _iota(size, dtype)
    else:
        if dtype in dtypes.half_width and wide_constants_allowed():
            first, distance = (convert_exactly(number, dtype) for number in (first, distance))
        result = _spaced(first, distance, size, dtype)
    return placed(result, device, out_sharding)


def _symbolic_range(start: Any, stop: Any, step: Any, dtype: Any) -> Any:
    """Returns the numbers between two bounds; a bound may be a symbolic dimension."""
    first, distance = 0 if start is None else start, 1 if step is None else step
    for name, value in (("start", first), ("stop", stop), ("step", distance)):
        if is_constant_dim(value) and not isinstance(value, int | np.integer):
            raise ValueError(
                "olympus.numpy.arange: if an argument is a symbolic dimension, the others must be "
                f"integers or symbolic dimensions, got {name}={value!r}"
            )
    if dtype is None:
        dtype = dtypes.default_int_dtype()
    if is_constant_dim(distance) and distance == 0:
        raise ValueError("olympus.numpy.arange has step == 0")
    try:
        rises = distance > 0
    except InconclusiveDimensionOperation as error:
        raise InconclusiveDimensionOperation(
            "olympus.numpy.arange: it must be known whether a symbolic step is > 0 or < 0, "
            f"got step={distance}. State it as a constraint of the dimension variables.\n{error}"
        ) from error
    span, pace = (stop - first, distance) if rises else (first - stop, -distance)
    size = max_dim(0, span + pace - 1) // pace
    result = lax.iota(dtype, size)
    if not is_constant_dim(distance) or distance != 1:
        result = lax.mul(lax.size_array(distance, dtype), result)
    if not is_constant_dim(first) or first != 0:
        result = lax.add(lax.size_array(first, dtype), result)
    return result


def _bound(name: str, value: Any) -> Any:
    """Returns a concrete scalar of `arange` as a Python or NumPy number."""
    if value is None or value.__class__ is int or value.__class__ is float:
        return value
    if isinstance(value, Tracer):
        value = concrete_or_error(None, value, f"It arose in the jnp.arange argument '{name}'")
    if isinstance(value, str | bytes):
        raise TypeError(f"Value {value!r} is not a valid argument of arange: it must be a number")
    check_arraylike("arange", value)
    array = np.asarray(value)
    if array.ndim:
        raise ValueError(f"olympus.numpy.arange: arguments must be scalars; got {name}={value}")
    if array.dtype.kind == "c":
        raise ValueError(
            "Passing complex start/stop/step to jnp.arange is no longer supported: complex numbers "
            f"have no order; got {name}={value}"
        )
    return array[()] if array.dtype.kind != "V" else array


def _counted(size: int, dtype: Any) -> Any:
    if dtypes.issubdtype(dtype, np.bool_):
        return convert(lax.iota(np.dtype(np.int32), size), dtype)
    return lax.iota(dtype, size)


def _at_distance(start: Any, step: Any, size: int, dtype: Any) -> Any:
    steps = lax.iota(dtype, size)
    if _differs(step, 1):
        steps = lax.mul(convert(step, dtype), steps)
    return lax.add(convert(start, dtype), steps)


def _differs(value: Any, from_value: int) -> bool:
    """Returns whether a value differs from ``from_value``; True for traced values."""
    return isinstance(value, Tracer) or value != from_value


_iota = compiled(_counted, ("size", "dtype"), inline=True, name="_arange")
_spaced = compiled(_at_distance, ("size", "dtype"), inline=True, name="_arange")


# ---- linspace, logspace and geomspace ----


def _number_of(name: str, num: Any) -> int:
    if num.__class__ is not int:
        num = concrete_or_error(operator.index, num, f"'num' argument of jnp.{name}")
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    return num


def _endpoints(name: str, start: Any, stop: Any, dtype: Any) -> tuple[Any, Any, Any]:
    """Returns the ends of a range as inexact arrays, and the dtype of the range."""
    check_arraylike(name, start, stop)
    if dtype is None:
        dtype, _ = result_type_of(start, stop)
        dtype = dtypes.to_inexact_dtype(dtype)
    computed = dtypes.to_inexact_dtype(dtype)
    return convert(start, computed), convert(stop, computed), dtype


def _spaced_between(
    start: Any, stop: Any, num: int, endpoint: bool, retstep: bool, dtype: Any, axis: int
) -> Any:
    start, stop, dtype = _endpoints("linspace", start, stop, dtype)
    computed = dtypes.to_inexact_dtype(dtype)
    check_ranks("linspace", (np.shape(start), np.shape(stop)))
    shape = broadcast_shapes(np.shape(start), np.shape(stop))
    start, stop = spread(start, shape), spread(stop, shape)
    intervals = num - 1 if endpoint else num
    if intervals > 0:
        step = lax.div(lax.sub(stop, start), lax.size_array(intervals, computed))
    else:
        step = lax.full((), np.array(np.nan, computed))
    if num == 0:
        out = lax.full((0, *shape), np.zeros((), computed))
    elif num == 1:
        out = lax.reshape(start, (1, *shape))
    else:
        out = _between(start, stop, intervals, endpoint, computed)
    if dtypes.issubdtype(dtype, np.integer) and not dtypes.issubdtype(out.dtype, np.integer):
        out = lax.floor(out)
    out = convert(moveaxis(out, 0, canonical_axis(axis, out.ndim)), dtype)
    return (out, step) if retstep else out


def _between(start: Any, stop: Any, intervals: int, endpoint: bool, dtype: Any) -> Any:
    """Returns weighted means of both ends, which make the last number exact."""
    real_dtype = dtypes.to_floating_dtype(dtype)
    shape = np.shape(start)
    weights = lax.reshape(lax.iota(real_dtype, intervals), (intervals,) + (1,) * len(shape))
    weights = lax.div(weights, lax.size_array(intervals, real_dtype))
    rest = lax.sub(np.ones((), real_dtype), weights)
    weights, rest = convert(weights, dtype), convert(rest, dtype)
    first = lax.mul(lax.reshape(start, (1, *shape)), rest)
    out = lax.add(first, lax.mul(lax.reshape(stop, (1, *shape)), weights))
    if endpoint:
        out = lax.concatenate([out, lax.expand_dims(stop, (0,))], 0)
    return out


_linspace = compiled(
    _spaced_between, ("num", "endpoint", "retstep", "dtype", "axis"), name="_linspace"
)


@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: Literal[False] = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Array: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int,
    endpoint: bool,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> tuple[Array, Array]: ...
@overload
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    *,
    retstep: Literal[True],
    dtype: DTypeLike | None = None,
    axis: int = 0,
    device: Any = None,
) -> tuple[Array, Array]: ...
def linspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: DTypeLike | None = None,
    axis: int = 0,
    *,
    device: DeviceLike = None,
) -> Any:
    """Returns numbers evenly spaced between two ends.

    Args:
      start: the first number, or an array of first numbers.
      stop: the last number, or an array of last numbers.
      num: the number of values to return.
      endpoint: whether the last number is ``stop``; otherwise it comes before ``stop``.
      retstep: whether to also return the distance between adjacent numbers.
      dtype: the dtype; floating by default.
      axis: the dimension of the result along which the numbers run.
      device: the device or sharding to put the array on.

    Returns:
      An array of a floating dtype, unless ``dtype`` is given, with ``num`` numbers along ``axis``;
      with ``retstep``, a tuple of the array and the step.

    Example:
      >>> linspace(0, 1, 5)
      Array([0.  , 0.25, 0.5 , 0.75, 1.  ], dtype=float32)
    """
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "linspace")
    if axis.__class__ is not int:
        axis = concrete_or_error(operator.index, axis, "'axis' argument of jnp.linspace")
    result = _linspace(
        start, stop, _number_of("linspace", num), bool(endpoint), bool(retstep), dtype, axis
    )
    if device is None:
        return result
    return (placed(result[0], device), result[1]) if retstep else placed(result, device)


def _powers_between(
    start: Any, stop: Any, num: int, endpoint: bool, base: Any, dtype: Any, axis: int
) -> Any:
    start, stop, dtype = _endpoints("logspace", start, stop, dtype)
    computed = dtypes.to_inexact_dtype(dtype)
    exponents = _linspace(start, stop, num, endpoint, False, None, axis)
    base, exponents = promote_shapes("logspace", convert(base, computed), exponents)
    return convert(lax.pow(base, exponents), dtype)


_logspace = compiled(_powers_between, ("num", "endpoint", "dtype", "axis"), name="_logspace")


def logspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    base: ArrayLike = 10.0,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Returns powers of a base with evenly spaced exponents.

    Args:
      start: the first exponent.
      stop: the last exponent.
      num: the number of values to return.
      endpoint: whether the last exponent is ``stop``; otherwise it comes before ``stop``.
      base: the base.
      dtype: the dtype; floating by default.
      axis: the dimension of the result along which the numbers run.

    Returns:
      An array of a floating dtype, unless ``dtype`` is given, with ``num`` numbers along ``axis``.

    Example:
      >>> logspace(0, 2, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "logspace")
    axis = concrete_or_error(operator.index, axis, "'axis' argument of jnp.logspace")
    return _logspace(start, stop, _number_of("logspace", num), bool(endpoint), base, dtype, axis)


def _ratios_between(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    check_arraylike("geomspace", start, stop)
    if dtype is None:
        dtype, _ = result_type_of(start, stop)
        dtype = dtypes.to_inexact_dtype(dtype)
    computed = dtypes.to_inexact_dtype(dtype)
    start, stop = promote_shapes("geomspace", convert(start, computed), convert(stop, computed))
    # For negative or complex bounds, the first bound determines the sign or direction.
    sign = lax.sign(start)
    exponents = (log10(lax.div(x, sign)) for x in (start, stop))
    powers = _logspace(*exponents, num, endpoint, 10.0, None, 0)
    result = lax.mul(*promote_shapes("geomspace", sign, powers))
    if dtypes.issubdtype(dtype, np.integer):
        result = lax.round(result)  # powers of rounded logarithms need not be integers
    return convert(moveaxis(result, 0, canonical_axis(axis, result.ndim)), dtype)


_geomspace = compiled(_ratios_between, ("num", "endpoint", "dtype", "axis"), name="_geomspace")


def geomspace(
    start: ArrayLike,
    stop: ArrayLike,
    num: int = 50,
    endpoint: bool = True,
    dtype: DTypeLike | None = None,
    axis: int = 0,
) -> Array:
    """Returns numbers in geometric progression.

    Args:
      start: the first number, not zero.
      stop: the last number, not zero and of the same sign.
      num: the number of values to return.
      endpoint: whether the last number is ``stop``; otherwise it comes before ``stop``.
      dtype: the dtype; floating by default.
      axis: the dimension of the result along which the numbers run.

    Returns:
      An array of a floating or complex dtype, unless ``dtype`` is given, with ``num`` numbers along
      ``axis``.

    Example:
      >>> geomspace(1, 100, 3)
      Array([  1.,  10., 100.], dtype=float32)
    """
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "geomspace")
    axis = concrete_or_error(operator.index, axis, "'axis' argument of jnp.geomspace")
    return _geomspace(start, stop, _number_of("geomspace", num), bool(endpoint), dtype, axis)


# ---- grids ----


def meshgrid(
    *xi: ArrayLike, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> list[Array]:
    """Returns the coordinates of all points of a grid, one array for each dimension.

    Args:
      *xi: vectors, the coordinates along each dimension.
      copy: must be True.
      sparse: whether the results keep size one in the other vectors' dimensions.
      indexing: ``"ij"`` keeps the order of the dimensions; ``"xy"`` exchanges the first two.

    Returns:
      A list of arrays, one for each vector and of its dtype.

    Raises:
      ValueError: if ``copy`` is False, ``indexing`` is unknown, or an argument does not have one
        dimension.

    Example:
      >>> x, y = meshgrid(arange(3), arange(2))
      >>> x
      Array([[0, 1, 2],
             [0, 1, 2]], dtype=int32)
    """
    check_arraylike("meshgrid", *xi)
    arrays = [ensure_array(x) for x in xi]
    if not copy:
        raise ValueError("olympus.numpy.meshgrid only supports copy=True")
    if indexing not in ("xy", "ij"):
        raise ValueError(f"Valid values for indexing are 'xy' and 'ij', got {indexing}")
    if any(array.ndim != 1 for array in arrays):
        raise ValueError(
            "Arguments to olympus.numpy.meshgrid must be 1D, got shapes "
            f"{[array.shape for array in arrays]}"
        )
    order = list(range(len(arrays)))
    if indexing == "xy" and len(arrays) >= 2:
        order[:2] = [1, 0]
    sizes = [arrays[position].shape[0] for position in order]
    results: list[Any] = [None] * len(arrays)
    for axis, position in enumerate(order):
        shape = [size if dim == axis or not sparse else 1 for dim, size in enumerate(sizes)]
        results[position] = _along_axis(arrays[position], tuple(shape), axis)
    return results


def _run_along(x: Any, shape: tuple[int, ...], axis: int) -> Any:
    return lax.broadcast_in_dim(x, shape, (axis,))


_along_axis = compiled(_run_along, ("shape", "axis"), inline=True, name="meshgrid")


def indices(dimensions: Sequence[int], dtype: DTypeLike | None = None, sparse: bool = False) -> Any:
    """Returns the indices of all elements of an array of a shape, one array for each dimension.

    Args:
      dimensions: the shape.
      dtype: the dtype; integer by default.
      sparse: whether to return a tuple of arrays with size one in the other dimensions.

    Returns:
      An array of shape ``(len(dimensions), *dimensions)``; with ``sparse``, a tuple of arrays.

    Example:
      >>> indices((2, 2))[0]
      Array([[0, 0],
             [1, 1]], dtype=int32)
    """
    shape = shape_of(dimensions)
    dtype = dtypes.check_and_canonicalize_user_dtype(int if dtype is None else dtype, "indices")
    return _indices(shape, dtype, bool(sparse))


def _index_arrays(shape: tuple[int, ...], dtype: Any, sparse: bool) -> Any:
    arrays = []
    for axis, size in enumerate(shape):
        line = lax.iota(dtype, size)
        sizes = tuple(n if dim == axis else 1 for dim, n in enumerate(shape)) if sparse else shape
        arrays.append(lax.broadcast_in_dim(line, sizes, (axis,)))
    if sparse:
        return tuple(arrays)
    return lax.stack(arrays, 0) if arrays else lax.full((0,), np.zeros((), dtype))


_indices = compiled(_index_arrays, ("shape", "dtype", "sparse"), inline=True, name="indices")


def fromfunction(
    function: Callable[..., Any], shape: int | Shape, *, dtype: DTypeLike = float, **kwargs: Any
) -> Array:
    """Returns an array whose elements are a function's values at their indices.

    Args:
      function: a function of as many scalars as the shape has dimensions. It is called under
        `vmap`.
      shape: the shape.
      dtype: the dtype of the indices.
      **kwargs: passed to the function.

    Returns:
      An array of the given shape, with the function's result at each index.

    Example:
      >>> fromfunction(lambda i, j: i + j, (2, 2), dtype=int)
      Array([[0, 1],
             [1, 2]], dtype=int32)
    """
    shape = shape_of(shape)

    def call(*args: Any) -> Any:
        return function(*args, **kwargs)

    for axis in reversed(range(len(shape))):
        in_axes = tuple(0 if dim == axis else None for dim in range(len(shape)))
        call = olympus_batching.vmap(call, in_axes=in_axes)
    return call(*(arange(size, dtype=dtype) for size in shape))
