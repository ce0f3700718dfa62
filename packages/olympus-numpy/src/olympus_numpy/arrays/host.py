# SPDX-License-Identifier: Apache-2.0
"""Functions that run on the host: files, text, and properties of arrays such as their shape."""

from __future__ import annotations

import math
import os
import tokenize
from collections.abc import Sequence
from os import PathLike
from typing import IO, Any, NoReturn

import numpy as np

from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.settings.naming import naming
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import is_valid_value

from ..core.axes import canonical_axes
from ..core.promotion import check_arraylike, to_array
from .creation import asarray

__all__ = [
    "ComplexWarning",
    "array_repr",
    "array_str",
    "frombuffer",
    "fromfile",
    "fromiter",
    "fromstring",
    "get_printoptions",
    "isscalar",
    "iterable",
    "load",
    "ndim",
    "printoptions",
    "save",
    "savez",
    "set_printoptions",
    "shape",
    "size",
    "trim_zeros",
]

ComplexWarning = np.exceptions.ComplexWarning
printoptions = np.printoptions
get_printoptions = np.get_printoptions
iterable = np.iterable


# ---- files and text ----


def set_printoptions(*args: Any, **kwargs: Any) -> None:
    """Sets how arrays, including NumPy's, are printed; see ``numpy.set_printoptions``.

    Args:
      *args: passed to ``numpy.set_printoptions``.
      **kwargs: passed to the same function.

    Example:
      >>> import numpy as np
      >>> with np.printoptions():
      ...     set_printoptions(precision=2)
      ...     print(asarray([0.12345]))
      [0.12]
    """
    np.set_printoptions(*args, **kwargs)


def save(file: str | PathLike[str] | IO[bytes], arr: ArrayLike, allow_pickle: bool = True) -> None:
    """Writes an array to a file in NumPy's format.

    Args:
      file: a file or its name.
      arr: an array.
      allow_pickle: whether arrays of Python objects may be written, as pickles.

    Example:
      >>> import io
      >>> file = io.BytesIO()
      >>> save(file, asarray([1, 2]))
      >>> _ = file.seek(0)
      >>> load(file)
      Array([1, 2], dtype=int32)
    """
    np.save(file, np.asarray(arr), allow_pickle=allow_pickle)


def savez(
    file: str | PathLike[str] | IO[bytes], *args: Any, allow_pickle: bool = True, **kwds: Any
) -> None:
    """Writes several arrays to a file in NumPy's format.

    Args:
      file: a file or its name.
      *args: arrays, named ``arr_0`` and so on.
      allow_pickle: whether arrays of Python objects may be written, as pickles.
      **kwds: arrays by name.

    Example:
      >>> import io
      >>> file = io.BytesIO()
      >>> savez(file, asarray([1, 2]), b=asarray([3]))
      >>> _ = file.seek(0)
      >>> sorted(load(file))
      ['arr_0', 'b']
    """
    arrays = [np.asarray(arg) for arg in args]
    named = {name: np.asarray(value) for name, value in kwds.items()}
    np.savez(file, *arrays, allow_pickle=allow_pickle, **named)


def load(file: str | PathLike[str] | IO[bytes], *args: Any, **kwargs: Any) -> Any:
    """Reads an array, or several, from a file in NumPy's format.

    Args:
      file: a file or its name.
      *args: passed to ``numpy.load``.
      **kwargs: passed to the same function.

    Returns:
      An array, or a NumPy array if the dtype is not supported, such as Python objects. If the file
      contains several arrays, the result is NumPy's mapping from names to arrays.

    Raises:
      ValueError: the file is damaged, its header claims more data than the file contains, or it
        contains pickled objects and ``allow_pickle`` is not given.

    Example:
      >>> import io
      >>> file = io.BytesIO()
      >>> save(file, asarray([1, 2]))
      >>> _ = file.seek(0)
      >>> load(file)
      Array([1, 2], dtype=int32)
    """
    _check_claimed_size(file)
    try:
        result = np.load(file, *args, **kwargs)
    except _DAMAGED as error:
        raise ValueError(f"load: the file is damaged: {error}") from None
    if isinstance(result, np.ndarray):
        if result.dtype.kind == "V" and result.dtype.itemsize == 2 and not result.dtype.names:
            result = result.view(dtypes.bfloat16)  # NumPy's format has no name for bfloat16
        if dtypes.is_valid_dtype(dtypes.canonicalize_dtype(result.dtype)):
            return asarray(result)
    return result


# Errors that NumPy's reader raises for headers that are not Python literals, or that hold sizes too
# large for an integer.
_DAMAGED = (tokenize.TokenError, SyntaxError, OverflowError)


def _check_claimed_size(file: Any) -> None:
    """Raises ValueError if the header of a ``.npy`` file claims more data than the file has.

    NumPy reserves the memory that a header claims before it reads the data.
    """
    if isinstance(file, str | os.PathLike):
        with open(file, "rb") as opened:
            _check_claimed_size(opened)
        return
    if not (hasattr(file, "seek") and hasattr(file, "tell")):
        return
    start = file.tell()
    try:
        version = np.lib.format.read_magic(file)
        read = {(1, 0): np.lib.format.read_array_header_1_0}.get(
            version, np.lib.format.read_array_header_2_0
        )
        shape, _, dtype = read(file)
        data = file.tell()
        follow = file.seek(0, os.SEEK_END) - data
    except Exception:  # another format, or a damaged header: the reader raises an error
        return
    finally:
        file.seek(start)
    claimed = math.prod(shape) * dtype.itemsize
    if claimed > follow and not dtype.hasobject:
        raise ValueError(
            f"load: the file is damaged or cut off: an array of shape {shape} and dtype {dtype} "
            f"needs {claimed} bytes, but only {follow} follow the header"
        )


def fromstring(string: str, dtype: DTypeLike = float, count: int = -1, *, sep: str) -> Array:
    """Parses the numbers in a text.

    Args:
      string: the text.
      dtype: the dtype.
      count: the number of values to read; all if -1.
      sep: the separator of the numbers.

    Returns:
      An array of one dimension and the given dtype.

    Example:
      >>> fromstring("1 2 3", dtype=int, sep=" ")
      Array([1, 2, 3], dtype=int32)
    """
    return asarray(np.fromstring(string=string, dtype=np.dtype(dtype), count=count, sep=sep))


def _refuse_impure(name: str) -> NoReturn:
    raise NotImplementedError(
        f"olympus.numpy.{name}() is not implemented because it may be non-pure and thus unsafe for "
        f"use with JIT and other {naming.library} transformations. Consider using "
        f"olympus.numpy.asarray(np.{name}(...)) instead, outside of transformed functions."
    )


def fromfile(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses to run: reading is an effect. Use ``asarray(numpy.fromfile(...))``.

    Args:
      *args: ignored.
      **kwargs: ignored.

    Raises:
      NotImplementedError: always.

    Example:
      >>> try:
      ...     fromfile("data")
      ... except NotImplementedError:
      ...     print("refused")
      refused
    """
    _refuse_impure("fromfile")


def fromiter(*args: Any, **kwargs: Any) -> NoReturn:
    """Refuses to run: iterating is an effect. Use ``asarray(numpy.fromiter(...))``.

    Args:
      *args: ignored.
      **kwargs: ignored.

    Raises:
      NotImplementedError: always.

    Example:
      >>> try:
      ...     fromiter("data")
      ... except NotImplementedError:
      ...     print("refused")
      refused
    """
    _refuse_impure("fromiter")


def frombuffer(buffer: Any, dtype: DTypeLike = float, count: int = -1, offset: int = 0) -> Array:
    """Returns the contents of a buffer, such as a bytes object, as an array of one dimension.

    Args:
      buffer: an object with the buffer protocol.
      dtype: the dtype of the elements.
      count: the number of elements to read; all if -1.
      offset: the number of bytes to skip.

    Returns:
      An array of one dimension and the given dtype.

    Example:
      >>> frombuffer(b"abc", dtype="uint8")
      Array([97, 98, 99], dtype=uint8)
    """
    return asarray(np.frombuffer(buffer=buffer, dtype=np.dtype(dtype), count=count, offset=offset))


def array_repr(
    arr: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Returns the text with which NumPy represents an array.

    Args:
      arr: an array.
      max_line_width: the number of characters after which a new line begins.
      precision: the number of digits to show.
      suppress_small: whether numbers close to zero are shown as zero.

    Returns:
      The text in the form of ``numpy.array_repr``: ``array(...)`` with the dtype.

    Example:
      >>> array_repr(asarray([1, 2]))
      'array([1, 2], dtype=int32)'
    """
    return np.array_repr(np.asarray(arr), max_line_width, precision, suppress_small)


def array_str(
    a: ArrayLike,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
) -> str:
    """Returns the elements of an array as NumPy shows them.

    Args:
      a: an array.
      max_line_width: the number of characters after which a new line begins.
      precision: the number of digits to show.
      suppress_small: whether numbers close to zero are shown as zero.

    Returns:
      The text, without the name of a class and without the dtype.

    Example:
      >>> array_str(asarray([1, 2]))
      '[1 2]'
    """
    return np.array_str(np.asarray(a), max_line_width, precision, suppress_small)


# ---- shapes ----


def ndim(a: ArrayLike) -> int:
    """Returns the number of dimensions.

    Args:
      a: an array or scalar.

    Returns:
      The number of dimensions.

    Example:
      >>> ndim(asarray([[1, 2]]))
      2
    """
    return len(_shape_of("ndim", a))


def shape(a: ArrayLike) -> tuple[int, ...]:
    """Returns the sizes of the dimensions.

    Args:
      a: an array or scalar.

    Returns:
      A tuple of integers.

    Example:
      >>> shape(asarray([[1, 2]]))
      (1, 2)
    """
    return _shape_of("shape", a)


def _shape_of(function: str, a: Any) -> tuple[int, ...]:
    """Returns the shape of an array; for a sequence, warns and then returns the shape."""
    if isinstance(a, int | float | complex):  # A Python integer may be too large for a dtype.
        return ()
    a = to_array(a)
    if not is_valid_value(a):
        warn_user(
            f"{function} requires ndarray or scalar arguments, got {type(a)} at position 0. In a "
            "future release this will be an error. Convert sequences with olympus.numpy.asarray.",
            DeprecationWarning,
        )
    return np.shape(a)


def size(a: ArrayLike, axis: int | Sequence[int] | None = None) -> int:
    """Returns the number of elements of an array, or along some of its dimensions.

    Args:
      a: an array.
      axis: the dimension or dimensions; all by default.

    Returns:
      The number of elements along the given dimensions.

    Example:
      >>> size(asarray([[1, 2]])), size(asarray([[1, 2]]), axis=0)
      (2, 1)
    """
    sizes = _shape_of("size", a)
    return math.prod(sizes[dim] for dim in canonical_axes(axis, len(sizes)))


def isscalar(element: object) -> bool:
    """Returns whether a value is a scalar: a number, or an array without dimensions.

    Args:
      element: any value.

    Returns:
      A bool.

    Example:
      >>> isscalar(1.5), isscalar([1.5])
      (True, False)
    """
    if np.isscalar(element):
        return True
    element = to_array(element)
    return isinstance(element, Array | np.ndarray) and element.ndim == 0


def trim_zeros(filt: ArrayLike, trim: str = "fb", axis: int | Sequence[int] | None = None) -> Array:
    """Returns an array without the zeros at its ends.

    Args:
      filt: a concrete array.
      trim: ``"f"`` for the front, ``"b"`` for the back, ``"fb"`` for both.
      axis: the dimensions that are trimmed, all by default. Along each dimension, the slices at the
        ends that contain only zeros are removed.

    Returns:
      An array of the rank and dtype of ``filt``.

    Raises:
      ValueError: if ``trim`` is none of ``"fb"``, ``"f"`` and ``"b"``.
      ConcretizationTypeError: if ``filt`` is traced: the shape of the result depends on its values.

    Example:
      >>> trim_zeros(asarray([0, 1, 2, 0]))
      Array([1, 2], dtype=int32)
    """
    check_arraylike("trim_zeros", filt)
    ends = trim.lower() if isinstance(trim, str) else trim
    if ends not in ("f", "b", "fb", "bf"):
        raise ValueError(f"trim_zeros: trim must be one of 'fb', 'f' and 'b', got {trim!r}")
    filt = asarray(filt)
    message = "Error arose in the `filt` argument of trim_zeros()"
    known = concrete_or_error(np.asarray, filt, message)
    window = [slice(None)] * known.ndim
    positions = np.argwhere(known)
    for dim in canonical_axes(axis, known.ndim):
        if not len(positions):
            window[dim] = slice(0, 0)
            continue
        first, last = int(positions[:, dim].min()), int(positions[:, dim].max())
        window[dim] = slice(first if "f" in ends else 0, last + 1 if "b" in ends else None)
    return filt[tuple(window)]
