# SPDX-License-Identifier: Apache-2.0
"""Reshaping, transposing and broadcasting: the same elements in other shapes."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import InconclusiveDimensionOperation, ShapeError
from olympus_ir.lax.core.values import as_array
from olympus_ir.lax.shaping.broadcasting import check_broadcast_layouts
from olympus_ir.programs.tracing import Tracer, is_constant_dim
from olympus_ir.types.annotations import ArrayLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, canonicalize_shape, get_aval
from olympus_ir.types.layouts import normal_form
from olympus_ir.types.resharding import asked_sharding

from ..core.axes import canonical_axis, unique_axes
from ..core.compilation import compiled, inlined, outlined
from ..core.promotion import broadcast_shapes, check_arraylike, ensure_array, spread
from .creation import shape_of

__all__ = [
    "atleast_1d",
    "atleast_2d",
    "atleast_3d",
    "broadcast_arrays",
    "broadcast_to",
    "expand_dims",
    "matrix_transpose",
    "moveaxis",
    "permute_dims",
    "ravel",
    "reshape",
    "resize",
    "rollaxis",
    "squeeze",
    "swapaxes",
    "transpose",
]


# ---- reshape and ravel ----


def reshape(
    a: ArrayLike,
    shape: int | Shape,
    order: str = "C",
    *,
    copy: bool | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns the elements of an array in another shape.

    Args:
      a: an array.
      shape: the shape. One size may be -1; it then follows from the others.
      order: ``"C"``: the last index changes fastest, ``"F"``: the first index does.
      copy: whether to always copy.
      out_sharding: the sharding of the result.

    Returns:
      An array of the given shape and of the dtype of ``a``.

    Example:
      >>> from olympus_numpy import arange
      >>> reshape(arange(6), (2, -1))
      Array([[0, 1, 2],
             [3, 4, 5]], dtype=int32)
    """
    sizes: Any = shape if shape.__class__ is tuple else _shape_argument(shape)
    for size in sizes:
        if size.__class__ is not int:  # concrete arrays, for example, are not hashable
            sizes = tuple(map(_size, sizes))
            break
    return _reshape(a, sizes, order, bool(copy), out_sharding)


def _shape_argument(shape: Any) -> tuple:
    if hasattr(shape, "__iter__") and getattr(shape, "shape", None) != ():
        return tuple(shape)
    return (shape,)


def reshaped(
    a: Any, shape: tuple, order: str = "C", copy: bool = False, out_sharding: ShardingLike = None
) -> Any:
    check_arraylike("reshape", a)
    a = ensure_array(a)
    shape = complete_shape(a.shape, shape)
    if order == "C":
        result = lax.reshape(a, shape, out_sharding=out_sharding)
    elif order == "F":
        reversed_axes = tuple(reversed(range(a.ndim)))
        result = lax.reshape(lax.transpose(a, reversed_axes), shape[::-1])
        result = lax.transpose(result, tuple(reversed(range(len(shape)))))
        if out_sharding is not None:
            result = lax.reshard(result, asked_sharding(out_sharding, "reshape"))
    elif order == "A":
        raise NotImplementedError("np.reshape order=A is not implemented.")
    else:
        raise ValueError(f"Unexpected value for 'order' argument: {order}.")
    return lax.copy(result) if copy else as_array(result)


def complete_shape(old: tuple[int, ...], new: Sequence[Any]) -> tuple[int, ...]:
    """Returns a requested shape, with -1 replaced by the size that follows from the other sizes.

    Raises:
      TypeError: if the numbers of elements differ.
    """
    size = math.prod(old)
    sizes = []
    unknown = -1
    for position, length in enumerate(new):
        if length.__class__ is not int:
            length = _size(length)
        if length == -1:
            if unknown >= 0:
                raise ShapeError(
                    "reshape: can only specify one unknown axis size with a `-1` value, got "
                    f"{tuple(new)}"
                )
            unknown = position
        sizes.append(length)
    if unknown >= 0:
        known = math.prod(sizes) * -1
        if not (is_constant_dim(size) and is_constant_dim(known)) and size % known != 0:
            raise InconclusiveDimensionOperation(
                f"Cannot divide evenly the sizes of shapes {old} and {tuple(sizes)}. The remainder "
                f"{size % known} should be 0; state it as a constraint of the dimension variables."
            )
        if known <= 0 or size % known:
            raise TypeError(
                f"cannot reshape array of shape {old} (size {size}) into shape {tuple(sizes)} "
                f"because the product of specified axis sizes ({known}) does not evenly divide "
                f"{size}"
            )
        sizes[unknown] = size // known
    shape = canonicalize_shape(tuple(sizes), "in the shape of reshape")
    if math.prod(shape) != size:
        raise TypeError(
            f"cannot reshape array of shape {old} (size {size}) into shape {shape} "
            f"(size {math.prod(shape)})"
        )
    return shape


def _size(size: Any) -> Any:
    if getattr(size, "_is_symbolic_dimension", False):
        return size
    try:
        return operator.index(size)
    except TypeError as error:
        if isinstance(size, Tracer):
            raise
        raise TypeError(
            f"Shapes must be 1D sequences of concrete values of integer type, got {size!r}"
        ) from error


_reshape = compiled(
    reshaped, ("shape", "order", "copy", "out_sharding"), inline=True, name="_reshape"
)


def ravel(a: ArrayLike, order: str = "C", *, out_sharding: ShardingLike = None) -> Array:
    """Returns the elements of an array in one dimension.

    Args:
      a: an array.
      order: ``"C"``: the last index changes fastest, ``"F"``: the first index does.
      out_sharding: the sharding of the result.

    Returns:
      An array of one dimension and of the dtype of ``a``.

    Raises:
      NotImplementedError: if ``order`` is ``"K"``.

    Example:
      >>> from olympus_numpy import array
      >>> ravel(array([[1, 2], [3, 4]]), order="F")
      Array([1, 3, 2, 4], dtype=int32)
    """
    if order == "K":
        raise NotImplementedError("Ravel not implemented for order='K'.")
    return _ravel(a, order, out_sharding)


def _raveled(a: Any, order: str = "C", out_sharding: ShardingLike = None) -> Any:
    check_arraylike("ravel", a)
    a = ensure_array(a)
    return reshaped(a, (math.prod(a.shape),), order, False, out_sharding)


_ravel = compiled(_raveled, ("order", "out_sharding"), inline=True, name="_ravel")


@outlined("new_shape")
def _resize(a: Any, new_shape: tuple[int, ...]) -> Any:
    a = lax.reshape(a, (math.prod(a.shape),))
    size = math.prod(new_shape)
    if a.shape[0] == 0 or size == 0:
        return lax.full(new_shape, np.zeros((), a.dtype))
    if not (is_constant_dim(a.shape[0]) and is_constant_dim(size)):
        length = spread(lax.size_array(a.shape[0], np.int32), (size,))
        places = lax.rem(lax.iota(np.int32, size), length)
        return lax.reshape(lax.index_take(a, [places], [0]), new_shape)
    repeats = -(-size // a.shape[0])
    a = lax.slice_in_dim(lax.tile(a, (repeats,)), 0, size, axis=0)
    return lax.reshape(a, new_shape)


def resize(a: ArrayLike, new_shape: int | Shape) -> Array:
    """Returns an array of a new shape with the elements of ``a``, repeated as needed.

    Args:
      a: an array.
      new_shape: the shape.

    Returns:
      An array of the given shape and of the dtype of ``a``.

    Raises:
      ValueError: if a size in ``new_shape`` is negative.

    Example:
      >>> from olympus_numpy import array
      >>> resize(array([1, 2]), (2, 3))
      Array([[1, 2, 1],
             [2, 1, 2]], dtype=int32)
    """
    check_arraylike("resize", a)
    try:
        new_shape = shape_of(new_shape)
    except TypeError as error:
        if "non-negative" in str(error):
            raise ValueError("all elements of `new_shape` must be non-negative") from None
        raise
    return _resize(ensure_array(a), new_shape)


# ---- the order of dimensions ----


def transpose(a: ArrayLike, axes: Sequence[int] | None = None) -> Array:
    """Returns an array with its dimensions permuted, by default reversed.

    Args:
      a: an array.
      axes: for each dimension of the result, the corresponding dimension of ``a``.

    Returns:
      An array of the dtype of ``a``, with its dimensions in the given order.

    Raises:
      TypeError: if ``axes`` is not a sequence of integers, one for each dimension.

    Example:
      >>> from olympus_numpy import array
      >>> transpose(array([[1, 2], [3, 4]]))
      Array([[1, 3],
             [2, 4]], dtype=int32)
    """
    if axes is not None:
        if not hasattr(axes, "__iter__"):
            raise TypeError(f"transpose: `axes` must be a sequence of integers, got {axes!r}")
        axes = tuple(map(operator.index, axes))
    return _transpose(a, axes)


def transposed(a: Any, axes: tuple[int, ...] | None = None) -> Any:
    check_arraylike("transpose", a)
    a = ensure_array(a)
    if axes is None:
        order = tuple(reversed(range(a.ndim)))
    else:
        if len(axes) != a.ndim:
            raise TypeError(
                "transpose permutation isn't a permutation of operand dimensions, got permutation "
                f"{axes} for operand shape {a.shape}."
            )
        order = tuple(canonical_axis(axis, a.ndim) for axis in axes)
    return as_array(lax.transpose(a, order))


_transpose = compiled(transposed, ("axes",), inline=True, name="_transpose")


def permute_dims(a: ArrayLike, /, axes: tuple[int, ...]) -> Array:
    """Returns an array with its dimensions permuted.

    Args:
      a: an array.
      axes: for each dimension of the result, the corresponding dimension of ``a``.

    Returns:
      An array of the dtype of ``a``, with its dimensions in the given order.

    Example:
      >>> from olympus_numpy import ones
      >>> permute_dims(ones((2, 3, 4)), (2, 0, 1)).shape
      (4, 2, 3)
    """
    return transpose(a, axes)


@inlined()
def matrix_transpose(x: ArrayLike, /) -> Array:
    """Returns an array with its last two dimensions exchanged.

    Args:
      x: an array of at least two dimensions.

    Returns:
      An array of the dtype of ``x``, with its last two sizes exchanged.

    Raises:
      ValueError: if ``x`` has less than two dimensions.

    Example:
      >>> from olympus_numpy import ones
      >>> matrix_transpose(ones((2, 3, 4))).shape
      (2, 4, 3)
    """
    check_arraylike("matrix_transpose", x)
    x = ensure_array(x)
    if x.ndim < 2:
        raise ValueError(
            f"x must be at least two-dimensional for matrix_transpose; got ndim={x.ndim}"
        )
    return lax.transpose(x, (*range(x.ndim - 2), x.ndim - 1, x.ndim - 2))


@inlined("axis1", "axis2")
def swapaxes(a: ArrayLike, axis1: int, axis2: int) -> Array:
    """Returns an array with two dimensions exchanged.

    Args:
      a: an array.
      axis1: a dimension.
      axis2: another dimension.

    Returns:
      An array of the dtype of ``a``, with two of its sizes exchanged.

    Example:
      >>> from olympus_numpy import ones
      >>> swapaxes(ones((2, 3, 4)), 0, 2).shape
      (4, 3, 2)
    """
    check_arraylike("swapaxes", a)
    a = ensure_array(a)
    order = list(range(a.ndim))
    axis1, axis2 = canonical_axis(axis1, a.ndim), canonical_axis(axis2, a.ndim)
    order[axis1], order[axis2] = order[axis2], order[axis1]
    return as_array(lax.transpose(a, tuple(order)))


def moveaxis(a: ArrayLike, source: int | Sequence[int], destination: int | Sequence[int]) -> Array:
    """Returns an array with some dimensions moved to other positions.

    The remaining dimensions keep their order.

    Args:
      a: an array.
      source: the dimension or dimensions.
      destination: the positions of these dimensions in the result.

    Returns:
      An array of the dtype of ``a``.

    Example:
      >>> from olympus_numpy import ones
      >>> moveaxis(ones((2, 3, 4)), 0, -1).shape
      (3, 4, 2)
    """
    return _moveaxis(a, axes_tuple(source), axes_tuple(destination))


def axes_tuple(axes: Any) -> tuple[int, ...]:
    if axes.__class__ is int:
        return (axes,)
    if np.ndim(axes) == 0:
        return (operator.index(axes),)
    return tuple(operator.index(axis) for axis in axes)


def _moved(a: Any, source: tuple[int, ...], destination: tuple[int, ...]) -> Any:
    check_arraylike("moveaxis", a)
    a = ensure_array(a)
    if len(source) != len(destination):
        raise ValueError(
            f"moveaxis: source and destination must have equally many elements, got {source} and "
            f"{destination}"
        )
    source = unique_axes(source, a.ndim)
    destination = unique_axes(destination, a.ndim)
    order = [axis for axis in range(a.ndim) if axis not in source]
    for position, axis in sorted(zip(destination, source, strict=True)):
        order.insert(position, axis)
    return as_array(lax.transpose(a, tuple(order)))


_moveaxis = compiled(_moved, ("source", "destination"), inline=True, name="_moveaxis")


def rollaxis(a: ArrayLike, axis: int, start: int = 0) -> Array:
    """Returns an array with one dimension moved before another; `moveaxis` is easier to read.

    Args:
      a: an array.
      axis: the dimension.
      start: the dimension before which ``axis`` is moved.

    Returns:
      An array of the dtype of ``a``.

    Raises:
      ValueError: if ``start`` is out of range.

    Example:
      >>> from olympus_numpy import ones
      >>> rollaxis(ones((2, 3, 4)), 2).shape
      (4, 2, 3)
    """
    check_arraylike("rollaxis", a)
    ndim = np.ndim(a)
    axis = canonical_axis(axis, ndim)
    if not -ndim <= start <= ndim:
        raise ValueError(f"start={start} must satisfy {-ndim}<=start<={ndim}")
    if start < 0:
        start += ndim
    return moveaxis(a, axis, start - 1 if start > axis else start)


# ---- dimensions of size one ----


def expand_dims(a: ArrayLike, axis: int | Sequence[int]) -> Array:
    """Returns an array with dimensions of size one added.

    Args:
      a: an array.
      axis: the positions of the new dimensions in the result.

    Returns:
      An array of the dtype of ``a`` with further dimensions of size one.

    Example:
      >>> from olympus_numpy import ones
      >>> expand_dims(ones((2, 3)), (0, -1)).shape
      (1, 2, 3, 1)
    """
    return _expand_dims(a, axes_tuple(axis))


def _expanded(a: Any, axis: tuple[int, ...]) -> Any:
    check_arraylike("expand_dims", a)
    return lax.expand_dims(ensure_array(a), axis)


_expand_dims = compiled(_expanded, ("axis",), inline=True, name="_expand_dims")


def squeeze(a: ArrayLike, axis: int | Sequence[int] | None = None) -> Array:
    """Returns an array without dimensions of size one.

    Args:
      a: an array.
      axis: the dimensions to remove; all of size one by default.

    Returns:
      An array of the dtype of ``a`` with fewer dimensions.

    Raises:
      ValueError: if a dimension in ``axis`` is not of size one.

    Example:
      >>> from olympus_numpy import ones
      >>> squeeze(ones((1, 3, 1))).shape
      (3,)
    """
    return _squeeze(a, None if axis is None else axes_tuple(axis))


def _squeezed(a: Any, axis: tuple[int, ...] | None = None) -> Any:
    check_arraylike("squeeze", a)
    a = ensure_array(a)
    if axis is None:
        if not all(map(is_constant_dim, a.shape)):
            raise ValueError(
                "jnp.squeeze with axis=None is not supported with shape polymorphism: which "
                f"dimensions of {a.shape} have size one is not known; pass axis"
            )
        axis = tuple(position for position, size in enumerate(a.shape) if size == 1)
    return as_array(lax.squeeze(a, unique_axes(axis, a.ndim))) if axis else as_array(a)


_squeeze = compiled(_squeezed, ("axis",), inline=True, name="_squeeze")


def _at_least(name: str, arrays: tuple, ndim: int) -> Any:
    if len(arrays) == 0:
        return []
    single = {1: _atleast_1d, 2: _atleast_2d, 3: _atleast_3d}[ndim]
    for array in arrays:
        check_arraylike(name, array)
    if len(arrays) == 1:
        return single(arrays[0])
    return [single(array) for array in arrays]


def _one_at_least_1d(x: Any) -> Any:
    x = ensure_array(x)
    return as_array(x) if x.ndim else lax.expand_dims(x, (0,))


def _one_at_least_2d(x: Any) -> Any:
    x = ensure_array(x)
    return as_array(x) if x.ndim >= 2 else lax.expand_dims(x, tuple(range(2 - x.ndim)))


def _one_at_least_3d(x: Any) -> Any:
    x = ensure_array(x)
    if x.ndim >= 3:
        return as_array(x)
    return lax.expand_dims(x, ((0, 1, 2), (0, 2), (2,))[x.ndim])


_atleast_1d = compiled(_one_at_least_1d, name="atleast_1d")
_atleast_2d = compiled(_one_at_least_2d, name="atleast_2d")
_atleast_3d = compiled(_one_at_least_3d, name="atleast_3d")


@overload
def atleast_1d(array: ArrayLike, /) -> Array: ...
@overload
def atleast_1d(*arys: ArrayLike) -> Any: ...


def atleast_1d(*arys: Any) -> Any:
    """Returns arrays with at least one dimension: a single array, or several as a list.

    Args:
      *arys: arrays or scalars.

    Returns:
      An array, or a list of arrays if several are given.

    Example:
      >>> atleast_1d(3)
      Array([3], dtype=int32, weak_type=True)
    """
    return _at_least("atleast_1d", arys, 1)


@overload
def atleast_2d(array: ArrayLike, /) -> Array: ...
@overload
def atleast_2d(*arys: ArrayLike) -> Any: ...


def atleast_2d(*arys: Any) -> Any:
    """Returns arrays with at least two dimensions; new dimensions come first.

    Args:
      *arys: arrays or scalars.

    Returns:
      An array, or a list of arrays if several are given.

    Example:
      >>> atleast_2d(3)
      Array([[3]], dtype=int32, weak_type=True)
    """
    return _at_least("atleast_2d", arys, 2)


@overload
def atleast_3d(array: ArrayLike, /) -> Array: ...
@overload
def atleast_3d(*arys: ArrayLike) -> Any: ...


def atleast_3d(*arys: Any) -> Any:
    """Returns arrays with at least three dimensions, adding dimensions at both ends.

    Args:
      *arys: arrays or scalars.

    Returns:
      An array, or a list of arrays if several are given.

    Example:
      >>> from olympus_numpy import ones
      >>> atleast_3d(ones((2, 3))).shape
      (2, 3, 1)
    """
    return _at_least("atleast_3d", arys, 3)


# ---- broadcasting ----


def broadcast_to(
    array: ArrayLike, shape: int | Shape, *, out_sharding: ShardingLike = None
) -> Array:
    """Returns an array broadcast to a shape.

    Args:
      array: an array or scalar.
      shape: the shape.
      out_sharding: the sharding of the result.

    Returns:
      An array of the given shape and of the dtype of ``array``.

    Raises:
      ValueError: if the array cannot be broadcast to the shape.

    Example:
      >>> broadcast_to(1, (2, 2))
      Array([[1, 1],
             [1, 1]], dtype=int32, weak_type=True)
    """
    shape = shape_of(shape)
    result = _broadcast_to(array, shape)
    sharding = asked_sharding(out_sharding, "broadcast_to")
    if sharding is None:
        return result
    layout = normal_form(sharding, len(shape))
    if layout is not None and isinstance(array, Array):
        first = len(shape) - array.ndim
        check_broadcast_layouts(array, layout, tuple(range(first, len(shape))))
    return lax.reshard(result, out_sharding)


def _broadcast(array: Any, shape: tuple[int, ...]) -> Any:
    check_arraylike("broadcast_to", array)
    array = ensure_array(array)
    old_shape = array.shape
    if len(old_shape) > len(shape):
        raise ValueError(
            f"Cannot broadcast to shape with fewer dimensions: arr_shape={old_shape} shape={shape}"
        )
    if any(
        size not in (1, target)
        for size, target in zip(reversed(old_shape), reversed(shape), strict=False)
    ):
        requested = ShapedArray(shape, array.dtype).str_short()
        raise ValueError(
            f"Incompatible types for broadcasting: input type={get_aval(array).str_short()} and "
            f"requested type={requested}"
        )
    return as_array(spread(array, shape))


_broadcast_to = compiled(_broadcast, ("shape",), inline=True, name="_broadcast_to")


def broadcast_arrays(*args: ArrayLike) -> list[Array]:
    """Returns the arguments broadcast against each other.

    Args:
      *args: arrays or scalars.

    Returns:
      A list of arrays of the same shape, with the dtypes of the arguments.

    Example:
      >>> from olympus_numpy import ones
      >>> [x.shape for x in broadcast_arrays(ones((3, 1)), ones(2))]
      [(3, 2), (3, 2)]
    """
    check_arraylike("broadcast_arrays", *args)
    return list(_broadcast_arrays(args))


def _broadcast_all(args: Any) -> Any:
    arrays = [ensure_array(arg) for arg in args]
    shape = broadcast_shapes(*(array.shape for array in arrays))
    return [as_array(spread(array, shape)) for array in arrays]


_broadcast_arrays = compiled(_broadcast_all, inline=True, name="_broadcast_arrays")
