# SPDX-License-Identifier: Apache-2.0
"""Arrays made from values of all kinds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.lax.core.values import invalid_elements
from olympus_ir.programs.evaluation import evaluator
from olympus_ir.programs.tracing import Tracer
from olympus_ir.settings.config_states import debug_infs, debug_nans
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DeviceLike, DTypeLike, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, array_conversion, canonicalize_shape, get_aval

from ..core.compilation import compiled, inlined
from ..core.promotion import (
    check_arraylike,
    convert,
    held,
    not_numbers,
    result_type_of,
    spread,
    warn_of_lost_parts,
    with_type,
)

__all__ = [
    "array",
    "asarray",
    "astype",
    "copy",
    "from_dlpack",
]

_python_scalars = frozenset({bool, int, float, complex})


# ---- from values ----


def array(
    object: Any,
    dtype: DTypeLike | None = None,
    *args: Any,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns an array with the values of any array-like object.

    Python scalars keep a weak dtype: promotion prefers the dtype of other operands.

    Args:
      object: an array, a scalar, a nested sequence of arrays and scalars, or an object with the
        buffer protocol or with ``__array__``, ``__olympus_array__`` or ``__jax_array__``.
      dtype: the dtype; that of the values by default.
      *args: ``copy``, ``order`` and ``ndmin`` by position; deprecated.
      copy: whether the result must not share memory with ``object``.
      order: only ``"K"`` and None are supported.
      ndmin: the least number of dimensions. Dimensions of size one are added in front to reach it.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array with the dimensions of the nesting, at least ``ndmin``; of ``dtype``, or of the
      common dtype of the values, narrowed to 32 bits unless 64-bit types are enabled.

    Raises:
      TypeError: if the values are not numbers.

    Example:
      >>> array([[1, 2], [3, 4]])
      Array([[1, 2],
             [3, 4]], dtype=int32)
    """
    if args:
        copy, order, ndmin = _given_by_position(args, copy, order, ndmin)
    if order not in ("K", None):
        raise NotImplementedError(f"array supports order='K' only, got order={order!r}.")
    result = _checked(object, _make("array", object, dtype, copy))
    if ndmin > result.ndim:
        missing = ndmin - result.ndim
        result = spread(result, (1,) * missing + result.shape)
    return placed(result, device, out_sharding)


def _given_by_position(args: tuple[Any, ...], *defaults: Any) -> tuple[Any, ...]:
    """Returns ``copy``, ``order`` and ``ndmin`` of `array`; warns about positional arguments.

    Args:
      args: as many of the three arguments, in order, as the call passes by position.
      defaults: the values of all three for a call that passes none by position.
    """
    if len(args) > len(defaults):
        raise TypeError(
            f"array() takes from 1 to 5 positional arguments but {len(args) + 2} were given"
        )
    warn_user(
        "Passing the copy, order, and ndmin arguments to olympus.numpy.array positionally is "
        "deprecated. Use keyword arguments instead.",
        DeprecationWarning,
    )
    return (*args, *defaults[len(args) :])


def asarray(
    a: Any,
    dtype: DTypeLike | None = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: DeviceLike = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Returns a value as an array. An array of the requested dtype is returned unchanged.

    Args:
      a: a value that `array` accepts.
      dtype: the dtype; that of the values by default.
      order: only ``"K"`` and None are supported.
      copy: True to copy an array even if that is not necessary.
      device: the device or sharding to put the array on.
      out_sharding: the sharding of the result.

    Returns:
      An array of the shape of the values. It is ``a`` itself if ``a`` is an array, and neither a
      copy, another dtype nor another device is requested.

    Raises:
      ValueError: if ``a`` is a NumPy masked array.
      NotImplementedError: if ``order`` is neither ``"K"`` nor None.
      TypeError: if the values are not numbers.

    Example:
      >>> asarray(range(3))
      Array([0, 1, 2], dtype=int32)
    """
    if isinstance(a, np.ndarray) and hasattr(a, "filled"):
        raise ValueError(
            "numpy masked arrays are not supported as direct inputs to OLYMPUS functions. Use "
            "arr.filled() to convert the value to a standard numpy array."
        )
    if order not in ("K", None):
        raise NotImplementedError(f"asarray supports order='K' only, got order={order!r}.")
    result = _checked(a, _make("asarray", a, dtype, bool(copy)))
    return placed(result, device, out_sharding)


def _make(function: str, value: Any, dtype: Any, must_copy: bool) -> Any:
    """Converts a value to an array of the requested dtype."""
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, function)
    return _converted_to(function, value, dtype, must_copy)


def _converted_to(function: str, value: Any, dtype: Any, must_copy: bool) -> Any:
    """Converts a value to an array of a dtype, which may have 64 bits under any setting."""
    if isinstance(value, Array):
        if must_copy:
            value = _copied(value)
        if dtype is None or (value.dtype == dtype and not value.weak_type):
            return value
        return _converted(value, dtype)
    kind = value.__class__
    if kind in _python_scalars:
        return _from_scalar(value, dtype)
    if isinstance(value, np.ndarray | np.generic):
        return from_host(value, dtype)
    if kind is list or kind is tuple:
        return _from_sequence(function, value, dtype)
    convert_itself = array_conversion(value)
    if convert_itself is not None:
        return _converted_to(function, convert_itself(), dtype, must_copy)
    return _from_object(function, value, dtype)


def _from_object(function: str, value: Any, dtype: Any) -> Any:
    """Converts an object of a class that is neither an array, a list nor a scalar of Python."""
    if isinstance(value, int | float | complex):
        # The value is a typed scalar, an enumeration member or an instance of another subclass of
        # Python's numbers. Such values are legal arguments of `jit`, too.
        base: Any = next(kind for kind in (int, float, complex) if isinstance(value, kind))
        return _from_scalar(base(value), dtype)
    if value is None:
        raise ValueError("None is not a valid value for jnp.array")
    if hasattr(value, "__dlpack__") and not hasattr(value, "__array__"):
        array = from_dlpack(value)
        return array if dtype is None else _converted(array, dtype)
    if isinstance(value, Sequence) and not isinstance(value, str | bytes | bytearray | memoryview):
        return _from_sequence(function, list(value), dtype)
    return from_host(np.asarray(value), dtype, value)


def _checked(value: Any, result: Any) -> Any:
    """Returns an array made of a value, if the debug flags allow its elements.

    Raises:
      FloatingPointError: the array has elements that `debug_nans` or `debug_infs` reports.
    """
    if not (debug_nans.value or debug_infs.value) or isinstance(value, Array):
        return result
    found = None if isinstance(result, Tracer) else invalid_elements(result)
    if found is not None:
        raise FloatingPointError(f"invalid value ({found}) encountered in array: {value!r}")
    return result


def _from_scalar(value: Any, dtype: Any) -> Any:
    if dtype is None:
        aval = get_aval(value)
    elif dtypes.is_extended(dtype):
        raise TypeError(f"A number cannot be converted to an array of dtype {dtype}.")
    else:
        aval = ShapedArray((), dtype)
    return held(_host_scalar(value, aval.dtype), aval)


def _host_scalar(value: Any, dtype: Any) -> np.ndarray:
    if value.__class__ is complex and not dtypes.issubdtype(dtype, np.complexfloating):
        raise TypeError(
            f"float() argument must be a string or a real number, not 'complex': {value} has no "
            f"value of dtype {dtype}."
        )
    with _cast_warnings():
        return np.array(value, dtype)


def _cast_warnings() -> np.errstate:
    """Returns a context in which NumPy's cast warnings are reported at the user's line of code."""
    return np.errstate(over="call", invalid="call", call=_warn_of_cast)


def _warn_of_cast(problem: str, _flag: int) -> None:
    warn_user(f"{problem} encountered in cast", RuntimeWarning)


def from_host(value: Any, dtype: Any = None, original: Any = None) -> Any:
    """Converts a NumPy array or scalar to an array; narrows 64-bit dtypes unless enabled.

    Args:
      value: the NumPy array or scalar.
      dtype: the dtype of the result; by default that of ``value``, narrowed if necessary.
      original: the object that the caller passed, for error messages.
    """
    if dtype is None:
        if value.dtype == dtypes.float0:
            return value  # float0 has no representation on a device
        dtype = dtypes.canonicalize_dtype(value.dtype)
        if not dtypes.is_valid_dtype(dtype):
            raise TypeError(not_numbers(value if original is None else original, value.dtype))
    if dtypes.is_extended(dtype):
        return lax.convert_element_type(value, dtype)
    if value.dtype != dtype:
        with _cast_warnings():
            value = value.astype(dtype)
    return held(value, ShapedArray(value.shape, dtype))


def convert_exactly(value: Any, dtype: Any) -> Any:
    """Converts a Python scalar to a 64-bit dtype; a compiled function would narrow the scalar."""
    return _from_scalar(value, dtype) if value.__class__ in _python_scalars else value


def _from_sequence(function: str, values: Any, dtype: Any) -> Any:
    leaves: list[Any] = []
    _collect_leaves(function, values, leaves)
    kinds = {leaf.__class__ for leaf in leaves}
    if kinds <= _python_scalars or all(
        kind in _python_scalars or issubclass(kind, np.ndarray | np.generic | str | bytes)
        for kind in kinds
    ):
        return _from_host_sequence(values, leaves, kinds, dtype)
    if dtype is None:
        dtype = result_type_of(*leaves)[0]
    return _stacked(function, values, dtype)


def _collect_leaves(function: str, values: Any, leaves: list[Any]) -> None:
    for value in values:
        kind = value.__class__
        if kind is list or isinstance(value, list | tuple):
            _collect_leaves(function, value, leaves)
        elif value is None:
            raise ValueError("None is not a valid value for jnp.array")
        else:
            leaves.append(with_type(value))


def _from_host_sequence(values: Any, leaves: list[Any], kinds: set[type], dtype: Any) -> Any:
    """Makes an array of a nested sequence that contains only NumPy values and Python scalars.

    Args:
      values: the nested sequence.
      leaves: the values that it contains.
      kinds: the classes of these values.
      dtype: the dtype of the result; by default the common dtype of the values.
    """
    if dtype is None and leaves:
        for leaf in leaves:
            if isinstance(leaf, str | bytes):
                raise TypeError(not_numbers(leaf, np.asarray(leaf).dtype))
        if kinds <= _python_scalars:
            widest = complex if complex in kinds else float if float in kinds else None
            widest = widest or (int if int in kinds else bool)
            dtype = dtypes.python_scalar_dtype(widest)
        else:
            dtype = result_type_of(*leaves)[0]
    elif dtype is None:
        dtype = dtypes.default_float_dtype()
    with _cast_warnings():
        value = np.array(values, dtype)
    return held(value, ShapedArray(value.shape, dtype))


def _stacked(function: str, values: Any, dtype: Any) -> Any:
    """Stacks a nested sequence that contains arrays, one dimension for each level."""
    elements = [
        _stacked(function, value, dtype)
        if isinstance(value, list | tuple)
        else _converted_to(function, value, dtype, False)
        for value in values
    ]
    if not elements:
        return lax.full((0,), 0, dtype)
    shapes = {element.shape for element in elements}
    if len(shapes) > 1:
        raise TypeError(
            f"{function}: the elements of a sequence must have the same shape, got "
            f"{', '.join(map(str, sorted(shapes)))}"
        )
    return stack_arrays(elements, 0)


@inlined("axis")
def stack_arrays(arrays: Any, axis: int) -> Any:
    """Joins arrays of the same shape and dtype along a new dimension."""
    return lax.concatenate([lax.expand_dims(array, (axis,)) for array in arrays], axis)


@inlined()
def _copied(x: Any) -> Any:
    return lax.copy_p.bind(x)


@inlined("dtype")
def _converted(x: Any, dtype: Any) -> Any:
    return convert(x, dtype)


def check_one_place(device: Any, out_sharding: Any) -> None:
    if device is not None and out_sharding is not None:
        raise ValueError(
            f"Only one of `device` or `out_sharding` can be set. Got {device=} and {out_sharding=}"
        )


def placed(x: Any, device: Any, out_sharding: ShardingLike = None) -> Any:
    """Moves an array to a device or a sharding, if one is given."""
    if device is None and out_sharding is None:
        return x
    check_one_place(device, out_sharding)
    if callable(device):
        raise ValueError(f"device must be a device or a sharding, got {device!r}")
    if device is not None:
        x = lax.device_put(x, device)
    return x if out_sharding is None else lax.reshard(x, out_sharding)


def astype(
    x: ArrayLike, dtype: DTypeLike, /, *, copy: bool = False, device: DeviceLike = None
) -> Array:
    """Returns an array converted to a dtype.

    Conversion to a real dtype drops imaginary parts. Conversion to integers drops fractions.
    Conversion to bool returns whether a number is not zero.

    Args:
      x: an array or scalar.
      dtype: the dtype; None for the default float dtype.
      copy: whether to copy an array that has the dtype already.
      device: the device or sharding to put the result on.

    Returns:
      An array of the shape of ``x`` and of ``dtype``. It is ``x`` itself if it already has that
      dtype and no copy is requested.

    Example:
      >>> astype(array([0.5, 2.0]), int)
      Array([0, 2], dtype=int32)
    """
    check_arraylike("astype", x)
    dtype = dtypes.check_and_canonicalize_user_dtype(float if dtype is None else dtype, "astype")
    if not isinstance(x, Array):
        x = asarray(x)
    if x.dtype != dtype or getattr(x, "weak_type", False):
        warn_of_lost_parts(x, dtype)
        x = _astype(x, dtype)
    if copy:
        x = _copied(x)
    return placed(x, device)


def converted(x: Any, dtype: Any) -> Any:
    """Converts an array to a canonical dtype: `astype` without compilation."""
    if x.dtype == dtype:
        return convert(x, dtype)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        if dtype == np.bool_:
            return lax.ne(x, np.array(0, x.dtype))
        if not dtypes.issubdtype(dtype, np.complexfloating):
            return convert(lax.real(x), dtype)
    return convert(x, dtype)


_astype = compiled(converted, ("dtype",), inline=True, name="astype")


def copy(a: ArrayLike, order: str | None = None) -> Array:
    """Returns a copy of an array.

    Args:
      a: an array or scalar.
      order: only ``"K"`` and None are supported.

    Returns:
      An array of the shape and dtype of ``a``.

    Example:
      >>> copy(array([1, 2]))
      Array([1, 2], dtype=int32)
    """
    check_arraylike("copy", a)
    return array(a, copy=True, order="K" if order is None else order)


def from_dlpack(x: Any, /, *, device: DeviceLike = None, copy: bool | None = None) -> Array:
    """Converts an array of another library, by the DLPack protocol.

    Args:
      x: an object with ``__dlpack__``.
      device: the device to put the array on.
      copy: False raises an error instead of copying.

    Returns:
      An array of the same shape and dtype. It shares the memory of ``x`` if the device allows it.

    Raises:
      TypeError: if ``x`` has no ``__dlpack__`` and ``__dlpack_device__``.
      ValueError: if ``copy`` is False and a copy is needed.

    Example:
      >>> import numpy as np
      >>> from_dlpack(np.arange(3, dtype=np.int32))
      Array([0, 1, 2], dtype=int32)
    """
    take = getattr(evaluator(), "from_dlpack", None)
    if take is not None:
        return take(x, device=device, copy=copy)
    if copy is False:
        raise ValueError(
            "the reference evaluator's arrays never share memory, so copy=False is not possible"
        )
    if not (hasattr(x, "__dlpack__") and hasattr(x, "__dlpack_device__")):
        raise TypeError(
            "The array passed to from_dlpack must have __dlpack__ and __dlpack_device__ methods, "
            f"got {type(x).__name__}."
        )
    return asarray(np.from_dlpack(x), device=device)


# ---- shapes ----


def shape_of(shape: Any, context: str = "") -> tuple[int, ...]:
    """Converts a shape, which is an integer or a sequence, to a tuple of integers."""
    if shape.__class__ is not tuple and (not hasattr(shape, "__iter__") or _is_scalar(shape)):
        shape = (shape,)
    return canonicalize_shape(shape, context)


def _is_scalar(value: Any) -> bool:
    return isinstance(value, str | bytes) or getattr(value, "shape", None) == ()
