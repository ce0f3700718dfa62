# SPDX-License-Identifier: Apache-2.0
"""Real and imaginary parts, conjugates and angles of complex numbers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import as_array
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..core.compilation import compiled, inlined, outlined
from ..core.promotion import check_arraylike, convert, ensure_array, promote_args, scalar_like

__all__ = [
    "angle",
    "conj",
    "conjugate",
    "imag",
    "iscomplex",
    "iscomplexobj",
    "isreal",
    "isrealobj",
    "real",
]


@inlined()
def real(val: ArrayLike, /) -> Array:
    """Returns the real parts of numbers.

    Args:
      val: an array or scalar.

    Returns:
      An array of the shape of ``val`` and of a real dtype.

    Example:
      >>> real(1 + 2j)
      Array(1., dtype=float32, weak_type=True)
    """
    val, dtype = promote_args.single("real", val)
    return lax.real(val) if dtypes.issubdtype(dtype, np.complexfloating) else as_array(val)


@inlined()
def imag(val: ArrayLike, /) -> Array:
    """Returns the imaginary parts of numbers, which are zero for real numbers.

    Args:
      val: an array or scalar.

    Returns:
      An array of the shape of ``val`` and of a real dtype.

    Example:
      >>> imag(1 + 2j)
      Array(2., dtype=float32, weak_type=True)
    """
    val, dtype = promote_args.single("imag", val)
    return lax.imag(val) if dtypes.issubdtype(dtype, np.complexfloating) else lax.full_like(val, 0)


@inlined()
def conjugate(x: ArrayLike, /) -> Array:
    """Returns the complex conjugates of numbers.

    Args:
      x: an array or scalar.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> conjugate(1 + 2j)
      Array(1.-2.j, dtype=complex64, weak_type=True)
    """
    x, dtype = promote_args.single("conjugate", x)
    return lax.conj(x) if dtypes.issubdtype(dtype, np.complexfloating) else as_array(x)


conj = conjugate


def _parts(z: Any) -> tuple[Any, Any]:
    if dtypes.issubdtype(z.dtype, np.complexfloating):
        return lax.real(z), lax.imag(z)
    return z, lax.full_like(z, 0)


def _angle_of(z: Any, deg: bool = False) -> Any:
    check_arraylike("angle", z)
    z = ensure_array(z)
    x, y = _parts(z)
    is_scalar = z.ndim == 0 and dtypes.issubdtype(z.dtype, np.floating)
    if is_scalar or not dtypes.issubdtype(z.dtype, np.inexact):
        x, y = (convert(part, dtypes.default_float_dtype()) for part in (x, y))
    result = lax.atan2(y, x)
    if deg:
        result, factor, _ = promote_args.pair("angle", result, 180 / np.pi)
        result = lax.mul(result, factor)
    return result


_angle = compiled(_angle_of, ("deg",), name="angle")


def angle(z: ArrayLike, deg: bool = False) -> Array:
    """Returns the angles of complex numbers.

    Args:
      z: an array or scalar.
      deg: whether to return degrees rather than radians.

    Returns:
      An array of the shape of ``z`` and of a floating dtype.

    Example:
      >>> angle(1j, deg=True)
      Array(90., dtype=float32, weak_type=True)
    """
    return _angle(z, bool(deg))


@outlined()
def isreal(x: ArrayLike) -> Array:
    """Returns whether the imaginary part is zero, elementwise.

    Args:
      x: an array or scalar.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> bool(isreal(1 + 0j))
      True
    """
    part = ensure_array(imag(x))
    return lax.eq(part, scalar_like(0, part))


@outlined()
def iscomplex(x: ArrayLike) -> Array:
    """Returns whether the imaginary part is not zero, elementwise.

    Args:
      x: an array or scalar.

    Returns:
      A boolean array of the shape of ``x``.

    Example:
      >>> bool(iscomplex(1 + 0j))
      False
    """
    part = ensure_array(imag(x))
    return lax.ne(part, scalar_like(0, part))


def iscomplexobj(x: ArrayLike) -> bool:
    """Returns whether the dtype of an array or scalar is complex.

    Args:
      x: any value.

    Returns:
      A bool.

    Example:
      >>> iscomplexobj(1j)
      True
    """
    if x is None:
        return False
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        check_arraylike("iscomplexobj", *_leaves(x))
        dtype = np.asarray(x).dtype
    # Dtypes of other libraries are described by their scalar type.
    return dtypes.issubdtype(getattr(dtype, "type", dtype), np.complexfloating)


def _leaves(x: Any) -> Iterator[Any]:
    """Yields the items of nested lists, or the value itself."""
    if isinstance(x, list | tuple):
        for item in x:
            yield from _leaves(item)
    else:
        yield x


def isrealobj(x: ArrayLike) -> bool:
    """Returns whether the dtype of an array or scalar is not complex.

    Args:
      x: any value.

    Returns:
      A bool.

    Example:
      >>> isrealobj(1j)
      False
    """
    return not iscomplexobj(x)
