# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms with NumPy's lengths, axes and norms."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.axes import integer_or_dim
from olympus_ir.lax.core.sizes import min_dim
from olympus_ir.lax.core.values import dtype_of, shape_of
from olympus_ir.lax.fft import MAX_FFT_RANK, FftType
from olympus_ir.programs.tracing import is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DeviceLike, DTypeLike
from olympus_ir.types.arrays import Array

from .arrays.creation import placed
from .arrays.flipping import roll
from .arrays.shaping import moveaxis
from .core.axes import canonical_axis
from .core.compilation import compiled
from .core.options import is_among
from .core.promotion import check_arraylike, convert, ensure_array, spread

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

_NORMS = ("backward", "ortho", "forward")
_INVERSE = (FftType.IFFT, FftType.IRFFT)


def _checked_norm(norm: Any) -> str:
    if norm is None:
        return "backward"
    if not is_among(norm, _NORMS):
        raise ValueError(f'Invalid norm value {norm}; should be "backward","ortho" or "forward".')
    return norm


def _swapped_norm(norm: Any) -> str:
    """Exchanges "forward" and "backward", so that the opposite transform has the same scale."""
    return {"backward": "forward", "forward": "backward", "ortho": "ortho"}[_checked_norm(norm)]


def _scale(kind: FftType, norm: str, size: int) -> float:
    """Returns the factor that changes the result of `lax.fft` from "backward" to another norm."""
    inverse = kind in _INVERSE
    if norm == "ortho":
        return math.sqrt(size) if inverse else 1 / math.sqrt(size)
    if norm == "forward":
        return float(size) if inverse else 1 / size
    return 1.0


def _resized(x: Any, axes: Sequence[int], sizes: Sequence[int]) -> Any:
    """Crops dimensions, or pads them with zeros."""
    shape = list(x.shape)
    for axis, size in zip(axes, sizes, strict=True):
        shape[axis] = size
    limits = tuple(min_dim(size, old_size) for size, old_size in zip(shape, x.shape, strict=True))
    if limits != x.shape:
        x = lax.slice(x, [0] * x.ndim, limits)
    missing = [(0, size - old_size, 0) for size, old_size in zip(shape, x.shape, strict=True)]
    if any(high for _, high, _ in missing):
        x = lax.pad(x, np.zeros((), x.dtype), missing)
    return x


def _plain_transform(x: Any, kind: FftType, lengths: tuple[int, ...]) -> Any:
    """Transforms the last dimensions, in groups as large as one operation supports."""
    if len(lengths) <= MAX_FFT_RANK:
        return lax.fft(x, kind, lengths)
    rest, last = lengths[:-MAX_FFT_RANK], lengths[-MAX_FFT_RANK:]
    # Real numbers are transformed along the last dimension, and complex numbers along the rest. So
    # IRFFT is the last step, and RFFT is the first.
    if kind is FftType.IRFFT:
        return lax.fft(_leading_transform(x, FftType.IFFT, rest, len(last)), kind, last)
    partial = lax.fft(x, kind, last)
    leading = FftType.FFT if kind is FftType.RFFT else kind
    return _leading_transform(partial, leading, rest, len(last))


def _leading_transform(x: Any, kind: FftType, lengths: tuple[int, ...], after: int) -> Any:
    count = len(lengths)
    source = tuple(range(x.ndim - after - count, x.ndim - after))
    destination = tuple(range(x.ndim - count, x.ndim))
    moved = _plain_transform(moveaxis(x, source, destination), kind, lengths)
    return moveaxis(moved, destination, source)


def _transformed(
    a: Any, kind: FftType, lengths: tuple[int, ...] | None, axes: tuple[int, ...], norm: str
) -> Any:
    a = ensure_array(a)
    if not axes:
        if kind is FftType.RFFT:
            return convert(a, a.dtype)
        return lax.fft(a, FftType.IFFT if kind is FftType.IRFFT else kind, ())
    last = tuple(range(a.ndim - len(axes), a.ndim))
    if axes != last:
        a = moveaxis(a, axes, last)
    if lengths is None:
        sizes: tuple[int, ...] = a.shape[-len(axes) :]
        if kind is FftType.IRFFT:
            sizes = (*sizes[:-1], max(0, 2 * (sizes[-1] - 1)))
            if sizes[-1] == 0:  # the default length is 2 * (1 - 1) = 0
                a = lax.slice_in_dim(a, 0, 0, axis=-1)
    else:
        sizes = lengths
        kept = (*sizes[:-1], sizes[-1] // 2 + 1) if kind is FftType.IRFFT else sizes
        a = _resized(a, last, kept)
    result = _plain_transform(a, kind, sizes)
    scale = _scale(kind, norm, math.prod(sizes)) if 0 not in sizes else 1.0
    if scale != 1.0:
        result = lax.mul(result, np.asarray(scale, result.dtype))
    return result if axes == last else moveaxis(result, last, axes)


_transform = compiled(
    _transformed, ("kind", "lengths", "axes", "norm"), inline=True, name="fft_with_norm"
)


def _sequence(function: str, argument: str, value: Any) -> tuple:
    try:
        return tuple(value)
    except TypeError:
        raise TypeError(
            f"fft.{function} takes a sequence of integers as `{argument}`, got "
            f"{argument}={value!r}."
        ) from None


def _checked_lengths(lengths: tuple) -> tuple[int, ...]:
    lengths = tuple(map(operator.index, lengths))
    if any(length < 1 for length in lengths):
        raise ValueError(f"Shape should be positive, got {lengths}.")
    return lengths


def _check_real(function: str, a: Any, kind: FftType) -> None:
    if kind is FftType.RFFT and dtypes.issubdtype(dtype_of(a), np.complexfloating):
        raise ValueError(
            f"only real valued inputs supported for {function}, got "
            f"{dtypes.name_of(dtype_of(a))}; take the real part, or use the transform of complex "
            "numbers."
        )


def _along_one(function: str, kind: FftType, a: Any, n: Any, axis: Any, norm: Any) -> Any:
    if axis is None:
        return _along_several(function, kind, a, None if n is None else (n,), None, norm)
    check_arraylike(f"fft.{function}", a)
    norm = _checked_norm(norm)
    if not isinstance(axis, int | np.integer):
        raise ValueError(
            f"olympus.numpy.fft.{function} does not support multiple axes. Please use "
            f"olympus.numpy.fft.{function}n. "
            f"Got axis = {axis!r}."
        )
    _check_real(function, a, kind)
    axis = canonical_axis(axis, len(shape_of(a)))
    lengths = None if n is None else _checked_lengths((n,))
    return _transform(a, kind=kind, lengths=lengths, axes=(axis,), norm=norm)


def _along_several(function: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    check_arraylike(f"fft.{function}", a)
    norm = _checked_norm(norm)
    ndim = len(shape_of(a))
    lengths = None if s is None else _checked_lengths(_sequence(function, "s", s))
    _check_real(function, a, kind)
    if axes is None:
        axes = range(ndim) if lengths is None else range(ndim - len(lengths), ndim)
    axis_list = _sequence(function, "axes", axes)
    if lengths is not None and len(lengths) != len(axis_list):
        raise ValueError(
            f"Shape and axes have different lengths: s={lengths} and axes={axis_list} of "
            f"fft.{function}."
        )
    axes = tuple(canonical_axis(axis, ndim) for axis in axis_list)
    if len(set(axes)) != len(axes):
        raise ValueError(
            f"olympus.numpy.fft.{function} does not support repeated axes. Got axes {axis_list}."
        )
    return _transform(a, kind=kind, lengths=lengths, axes=axes, norm=norm)


def _along_two(function: str, kind: FftType, a: Any, s: Any, axes: Any, norm: Any) -> Any:
    axes = _sequence(function, "axes", axes)
    if len(axes) != 2:
        raise ValueError(f"olympus.numpy.fft.{function} only supports 2 axes. Got axes = {axes!r}.")
    return _along_several(function, kind, a, s, axes, norm)


# ---- over one dimension ----


def fft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Returns the discrete Fourier transform along a dimension.

    Args:
      a: an array of numbers.
      n: the number of elements to transform. Surplus elements are cut off, missing ones are zeros.
      axis: the dimension.
      norm: "backward" does not scale, "forward" divides by the length, "ortho" by its square root.

    Returns:
      An array of a complex dtype, with the shape of ``a`` except for the given lengths.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.fft(jnp.ones(2))
      Array([2.+0.j, 0.+0.j], dtype=complex64)
    """
    return _along_one("fft", FftType.FFT, a, n, axis, norm)


def ifft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Returns the inverse of the discrete Fourier transform along a dimension.

    Args:
      a: an array of numbers.
      n: the number of elements to transform. Surplus elements are cut off, missing ones are zeros.
      axis: the dimension.
      norm: "backward" divides by the length, "forward" does not, "ortho" divides by its square
        root.

    Returns:
      An array of a complex dtype, with the shape of ``a`` except for the given lengths.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.ifft(jnp.array([2.0, 0.0]))
      Array([1.+0.j, 1.+0.j], dtype=complex64)
    """
    return _along_one("ifft", FftType.IFFT, a, n, axis, norm)


def rfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Returns the discrete Fourier transform of real numbers along a dimension.

    The second half of the result, which is the conjugate of the first, is left out.

    Args:
      a: an array of real numbers.
      n: the number of elements to transform. Surplus elements are cut off, missing ones are zeros.
      axis: the dimension.
      norm: as in `fft`.

    Returns:
      An array of a complex dtype whose size along the axis is ``n // 2 + 1``.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.rfft(jnp.ones(4))
      Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    return _along_one("rfft", FftType.RFFT, a, n, axis, norm)


def irfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Returns the inverse transform of `rfft`, a real array.

    Args:
      a: an array of numbers, the first half of a transform.
      n: the length of the result; ``2 * (size - 1)`` for inputs of ``size`` if it is None.
      axis: the dimension.
      norm: as in `ifft`.

    Returns:
      An array of a floating dtype whose size along the axis is ``n``.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.irfft(jnp.array([4.0, 0.0, 0.0]))
      Array([1., 1., 1., 1.], dtype=float32)
    """
    return _along_one("irfft", FftType.IRFFT, a, n, axis, norm)


def hfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Returns the transform of a Hermitian-symmetric array, given its first half.

    Args:
      a: the first half.
      n: the length of the result; ``2 * (size - 1)`` for inputs of ``size`` if it is None.
      axis: the dimension.
      norm: as in `fft`.

    Returns:
      An array of a floating dtype whose size along the axis is ``n``.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.hfft(jnp.array([1.0, 0.0, 0.0]))
      Array([1., 1., 1., 1.], dtype=float32)
    """
    check_arraylike("fft.hfft", a)
    a = lax.conj(ensure_array(a)) if _is_complex(a) else a
    return _along_one("hfft", FftType.IRFFT, a, n, axis, _swapped_norm(norm))


def ihfft(a: ArrayLike, n: int | None = None, axis: int = -1, norm: str | None = None) -> Array:
    """Returns the inverse of `hfft`: the first half of a Hermitian-symmetric array.

    Args:
      a: an array of real numbers.
      n: the number of elements to transform. Surplus elements are cut off, missing ones are zeros.
      axis: the dimension.
      norm: as in `ifft`.

    Returns:
      An array of a complex dtype whose size along the axis is ``n // 2 + 1``.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.ihfft(jnp.ones(4)).real
      Array([1., 0., 0.], dtype=float32)
    """
    return lax.conj(_along_one("ihfft", FftType.RFFT, a, n, axis, _swapped_norm(norm)))


def _is_complex(a: Any) -> bool:
    return dtypes.issubdtype(dtype_of(a), np.complexfloating)


# ---- over several dimensions ----


def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Returns the discrete Fourier transform along several dimensions.

    Args:
      a: an array of numbers.
      s: the number of elements to transform along each dimension; all of them if it is None.
      axes: the dimensions. If None, they are the last ``len(s)`` dimensions, or all if ``s`` is
        None too.
      norm: as in `fft`.

    Returns:
      An array of a complex dtype, with the shape of ``a`` except for the given lengths.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.fftn(jnp.ones((1, 2)))
      Array([[2.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _along_several("fftn", FftType.FFT, a, s, axes, norm)


def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Returns the inverse of the discrete Fourier transform along several dimensions.

    Args:
      a: an array of numbers.
      s: as in `fftn`.
      axes: as in `fftn`.
      norm: as in `ifft`.

    Returns:
      An array of a complex dtype, with the shape of ``a`` except for the given lengths.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.ifftn(jnp.array([[2.0, 0.0]]))
      Array([[1.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _along_several("ifftn", FftType.IFFT, a, s, axes, norm)


def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Returns half of the transform of real numbers along several dimensions.

    The second half of the last dimension is left out, because it follows from the first half.

    Args:
      a: an array of real numbers.
      s: as in `fftn`.
      axes: as in `fftn`.
      norm: as in `fft`.

    Returns:
      An array of a complex dtype. The size along the last axis is ``n // 2 + 1`` for the length
      ``n``.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.rfftn(jnp.ones((1, 2)))
      Array([[2.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _along_several("rfftn", FftType.RFFT, a, s, axes, norm)


def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Returns the inverse transform of `rfftn`, a real array.

    Args:
      a: an array of numbers.
      s: the shape of the result along the dimensions.
      axes: as in `fftn`.
      norm: as in `ifft`.

    Returns:
      An array of a floating dtype, with the shape of ``a`` except for the given lengths.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.irfftn(jnp.array([[2.0, 0.0]]))
      Array([[1., 1.]], dtype=float32)
    """
    return _along_several("irfftn", FftType.IRFFT, a, s, axes, norm)


def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Returns the discrete Fourier transform along two dimensions.

    Args:
      a: an array of numbers.
      s: the number of elements to transform along each dimension; all of them if it is None.
      axes: the dimensions. If None, they are the last ``len(s)`` dimensions, or all if ``s`` is
        None too.
      norm: as in `fft`.

    Returns:
      An array of a complex dtype, with the shape of ``a`` except for the given lengths.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.fft2(jnp.ones((1, 2)))
      Array([[2.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _along_two("fft2", FftType.FFT, a, s, axes, norm)


def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Returns the inverse of the discrete Fourier transform along two dimensions.

    Args:
      a: an array of numbers.
      s: as in `fftn`.
      axes: as in `fftn`.
      norm: as in `ifft`.

    Returns:
      An array of a complex dtype, with the shape of ``a`` except for the given lengths.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.ifft2(jnp.array([[2.0, 0.0]]))
      Array([[1.+0.j, 1.+0.j]], dtype=complex64)
    """
    return _along_two("ifft2", FftType.IFFT, a, s, axes, norm)


def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Returns the transform of real numbers along two dimensions.

    Args:
      a: an array of real numbers.
      s: as in `fftn`.
      axes: as in `fftn`.
      norm: as in `fft`.

    Returns:
      An array of a complex dtype. The size along the last axis is ``n // 2 + 1`` for the length
      ``n``.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.rfft2(jnp.ones((1, 2)))
      Array([[2.+0.j, 0.+0.j]], dtype=complex64)
    """
    return _along_two("rfft2", FftType.RFFT, a, s, axes, norm)


def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] = (-2, -1),
    norm: str | None = None,
) -> Array:
    """Returns the inverse transform of `rfft2`, a real array.

    Args:
      a: an array of numbers.
      s: the shape of the result along the dimensions.
      axes: as in `fftn`.
      norm: as in `ifft`.

    Returns:
      An array of a floating dtype, with the shape of ``a`` except for the given lengths.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.irfft2(jnp.array([[2.0, 0.0]]))
      Array([[1., 1.]], dtype=float32)
    """
    return _along_two("irfft2", FftType.IRFFT, a, s, axes, norm)


# ---- frequencies ----


def _frequencies(function: str, count: Any, positive: Any, n: Any, d: Any, dtype: Any, device: Any):
    """Returns ``count`` frequencies, of which those after the first ``positive`` are negative."""
    if np.ndim(d) or isinstance(d, list | tuple):
        raise ValueError(
            f"The d argument of olympus.numpy.fft.{function} only takes a single value. "
            f"Got d = {d}."
        )
    if dtype is None:
        dtype = dtypes.default_float_dtype()
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, function)
    inexact = dtypes.to_inexact_dtype(dtype)
    step = lax.mul(lax.convert_element_type(d, inexact), lax.size_array(n, inexact))
    numbers = _numbers(count, positive, n)
    result = lax.div(lax.convert_element_type(ensure_array(numbers), inexact), step)
    return placed(lax.convert_element_type(result, dtype), device)


def _numbers(count: Any, positive: Any, n: Any) -> Any:
    """Returns the numbers of the frequencies of a transform of length ``n``."""
    if is_constant_dim(n):
        numbers = np.arange(count)
        return np.where(numbers < positive, numbers, numbers - n)
    numbers = lax.iota(np.int32, count)
    first_negative, length = (
        spread(lax.size_array(size, np.int32), (count,)) for size in (positive, n)
    )
    return lax.select(lax.lt(numbers, first_negative), numbers, lax.sub(numbers, length))


def _length(function: str, n: Any) -> Any:
    try:
        return integer_or_dim(n)
    except TypeError:
        raise ValueError(
            f"The n argument of olympus.numpy.fft.{function} only takes an int. Got n = {n!r}."
        ) from None


def fftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike = None
) -> Array:
    """Returns the frequencies of the elements of a transform.

    Args:
      n: the length of the transform.
      d: the distance between samples.
      dtype: the dtype of the result; the default float dtype if it is None.
      device: the device or sharding to put the result on.

    Returns:
      An array of shape ``(n,)`` and of the requested dtype.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.fftfreq(4)
      Array([ 0.  ,  0.25, -0.5 , -0.25], dtype=float32)
    """
    n = _length("fftfreq", n)
    return _frequencies("fftfreq", n, (n + 1) // 2, n, d, dtype, device)


def rfftfreq(
    n: int, d: ArrayLike = 1.0, *, dtype: DTypeLike | None = None, device: DeviceLike = None
) -> Array:
    """Returns the frequencies of the elements of a transform of real numbers.

    Args:
      n: the length of the transform.
      d: the distance between samples.
      dtype: the dtype of the result; the default float dtype if it is None.
      device: the device or sharding to put the result on.

    Returns:
      An array of shape ``(n // 2 + 1,)`` and of the requested dtype.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.rfftfreq(4)
      Array([0.  , 0.25, 0.5 ], dtype=float32)
    """
    n = _length("rfftfreq", n)
    count = n // 2 + 1
    return _frequencies("rfftfreq", count, count, n, d, dtype, device)


def _shifted(function: str, x: Any, axes: Any, inverse: bool) -> Any:
    check_arraylike(f"fft.{function}", x)
    shape = shape_of(x)
    if axes is None:
        axes = tuple(range(len(shape)))
    elif isinstance(axes, int | np.integer):
        axes = (int(axes),)
    axes = tuple(canonical_axis(axis, len(shape)) for axis in axes)  # repeated axes are allowed
    shifts = tuple(-(shape[axis] // 2) if inverse else shape[axis] // 2 for axis in axes)
    return roll(x, shifts, axes)


def fftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Shifts the zero frequency to the middle, so that frequencies increase.

    Args:
      x: an array.
      axes: the dimensions; all if it is None.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.fftshift(jnp.array([0, 1, -2, -1]))
      Array([-2, -1,  0,  1], dtype=int32)
    """
    return _shifted("fftshift", x, axes, inverse=False)


def ifftshift(x: ArrayLike, axes: int | Sequence[int] | None = None) -> Array:
    """Shifts the zero frequency back to the front: the inverse of `fftshift`.

    Args:
      x: an array.
      axes: the dimensions; all if it is None.

    Returns:
      An array of the shape and dtype of ``x``.

    Example:
      >>> import olympus_numpy as jnp
      >>> jnp.fft.ifftshift(jnp.array([-2, -1, 0, 1]))
      Array([ 0,  1, -2, -1], dtype=int32)
    """
    return _shifted("ifftshift", x, axes, inverse=True)
