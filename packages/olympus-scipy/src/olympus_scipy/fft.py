# SPDX-License-Identifier: Apache-2.0
"""Discrete cosine transforms of types I to IV, computed by Fourier transforms."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.axes import canonical_axis, unique_axes
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.options import is_among
from olympus_numpy.core.promotion import check_arraylike, promote_dtypes_inexact

__all__ = ["dct", "dctn", "idct", "idctn"]

_INVERSE_TYPE = {1: 1, 2: 3, 3: 2, 4: 4}
_SWAPPED = {"backward": "forward", "forward": "backward", "ortho": "ortho"}


def _check(name: str, type: int, norm: str | None) -> str:
    if not is_among(type, _INVERSE_TYPE):
        raise NotImplementedError(f"{name}: only DCT types 1 to 4 are implemented, got {type!r}.")
    if norm is None:
        return "backward"
    if not isinstance(norm, str) or norm not in _SWAPPED:
        raise ValueError(
            f'{name}: norm={norm!r} is not implemented; it is "backward", "ortho" or "forward".'
        )
    return norm


def dct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Computes the discrete cosine transform along an axis.

    Unlike SciPy's function, it takes no ``overwrite_x``, ``workers`` or ``orthogonalize``.

    Args:
      x: an array of real or complex numbers.
      type: 1, 2, 3 or 4.
      n: the length of the transform: ``x`` is truncated or padded with zeros to this length.
      axis: the axis to transform.
      norm: ``"backward"`` (the default) does not scale. ``"forward"`` divides by twice the
        length, or for type 1 by ``2 * (length - 1)``. ``"ortho"`` makes the transform
        orthogonal.

    Returns:
      An array of inexact dtype, of the shape of ``x`` with length ``n`` along ``axis``.

    Raises:
      NotImplementedError: the type is not 1, 2, 3 or 4.
      ValueError: the norm is unknown, or the length is too small.

    Example:
      >>> import olympus_numpy as jnp
      >>> dct(jnp.ones(1))
      Array([2.], dtype=float32)
    """
    check_arraylike("dct", x)
    return _along("dct", x, type, _check("dct", type, norm), n, axis)


def idct(
    x: ArrayLike, type: int = 2, n: int | None = None, axis: int = -1, norm: str | None = None
) -> Array:
    """Computes the inverse discrete cosine transform along an axis: the inverse of `dct`.

    Args:
      x: an array of real or complex numbers.
      type: 1, 2, 3 or 4, the type of the transform to invert.
      n: the length of the transform: ``x`` is truncated or padded with zeros to this length.
      axis: the axis to transform.
      norm: the norm of the transform to invert; see `dct`.

    Returns:
      An array of inexact dtype, of the shape of ``x`` with length ``n`` along ``axis``.

    Raises:
      NotImplementedError: the type is not 1, 2, 3 or 4.
      ValueError: the norm is unknown, or the length is too small.

    Example:
      >>> import olympus_numpy as jnp
      >>> idct(jnp.array([2.0]))
      Array([1.], dtype=float32)
    """
    check_arraylike("idct", x)
    norm = _SWAPPED[_check("idct", type, norm)]
    return _along("idct", x, _INVERSE_TYPE[type], norm, n, axis)


def dctn(
    x: ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Computes the discrete cosine transform along several axes.

    Args:
      x: an array of real or complex numbers.
      type: 1, 2, 3 or 4.
      s: the length of the transform along each axis, an integer for one axis; the lengths of ``x``
        if None.
      axes: the axes. If None, the last ``len(s)`` axes, or all axes if ``s`` is None too.
      norm: as in `dct`.

    Returns:
      An array of inexact dtype, of the shape of ``x`` with the lengths ``s`` along ``axes``.

    Raises:
      NotImplementedError: the type is not 1, 2, 3 or 4.
      ValueError: the norm is unknown, a length is too small, or ``s`` and ``axes`` differ in
        length.

    Example:
      >>> import olympus_numpy as jnp
      >>> dctn(jnp.ones((1, 1)))
      Array([[4.]], dtype=float32)
    """
    check_arraylike("dctn", x)
    return _along_several("dctn", x, type, _check("dctn", type, norm), s, axes)


def idctn(
    x: ArrayLike,
    type: int = 2,
    s: int | Sequence[int] | None = None,
    axes: int | Sequence[int] | None = None,
    norm: str | None = None,
) -> Array:
    """Computes the inverse discrete cosine transform along several axes: the inverse of `dctn`.

    Args:
      x: an array of real or complex numbers.
      type: the type of the transform to invert.
      s: as in `dctn`.
      axes: as in `dctn`.
      norm: the norm of the transform to invert.

    Returns:
      An array of inexact dtype, of the shape of ``x`` with the lengths ``s`` along ``axes``.

    Raises:
      NotImplementedError: the type is not 1, 2, 3 or 4.
      ValueError: the norm is unknown, a length is too small, or ``s`` and ``axes`` differ in
        length.

    Example:
      >>> import olympus_numpy as jnp
      >>> idctn(jnp.array([[4.0]]))
      Array([[1.]], dtype=float32)
    """
    check_arraylike("idctn", x)
    norm = _SWAPPED[_check("idctn", type, norm)]
    return _along_several("idctn", x, _INVERSE_TYPE[type], norm, s, axes)


def _along_several(name: str, x: Any, type: int, norm: str, s: Any, axes: Any) -> Any:
    ndim = onp.ndim(x)
    if isinstance(s, int | np.integer):
        s = (s,)
    if axes is None:
        axes = range(ndim) if s is None else range(ndim - len(s), ndim)
    axes = unique_axes((axes,) if isinstance(axes, int) else tuple(axes), ndim)
    lengths = (None,) * len(axes) if s is None else tuple(s)
    if len(lengths) != len(axes):
        raise ValueError(f"{name}: s={s} and axes={axes} have different lengths.")
    for axis, length in zip(axes, lengths, strict=True):
        x = _along(name, x, type, norm, length, axis)
    return onp.asarray(x)


def _along(name: str, x: Any, type: int, norm: str, n: Any, axis: Any) -> Any:
    axis = canonical_axis(operator.index(axis), onp.ndim(x))
    if n is not None:
        n = operator.index(n)
        if n < 1:
            raise ValueError(f"{name}: invalid number of data points ({n}) specified.")
    size = onp.shape(x)[axis] if n is None else n
    if size < (2 if type == 1 else 1):
        raise ValueError(f"{name} of type {type}: too few data points ({size}) along axis {axis}.")
    return _transformed(x, type, norm, n, axis)


@outlined("type", "norm", "n", "axis")
def _transformed(x: Any, type: int, norm: str, n: int | None, axis: int) -> Any:
    (x,) = promote_dtypes_inexact(x)
    x = onp.moveaxis(x, axis, -1)
    if n is not None:
        x = x[..., :n]
        missing = n - x.shape[-1]
        if missing:
            x = onp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        result = lax.complex(
            _TRANSFORMS[type](lax.real(x), norm), _TRANSFORMS[type](lax.imag(x), norm)
        )
    else:
        result = _TRANSFORMS[type](x, norm)
    return onp.moveaxis(result, -1, axis)


def _scaled(result: Any, norm: str, size: int) -> Any:
    """Scales a transform of period ``size`` according to the norm."""
    factor = {"backward": 1.0, "forward": 1.0 / size, "ortho": 1.0 / math.sqrt(size)}[norm]
    return result if factor == 1.0 else result * np.asarray(factor, result.dtype)


def _times(x: Any, weights: np.ndarray) -> Any:
    """Multiplies along the last axis by weights. Complex weights make the product complex."""
    if np.iscomplexobj(weights):
        x = x.astype(dtypes.to_complex_dtype(x.dtype))
    return x * lax.broadcast_to_rank(weights.astype(x.dtype), x.ndim)


def _ends(length: int, first: float, last: float) -> np.ndarray:
    weights = np.ones(length)
    weights[0] *= first
    weights[-1] *= last
    return weights


def _rotations(angles: np.ndarray) -> np.ndarray:
    return np.exp(1j * angles)


def _first(x: Any, norm: str) -> Any:
    """Computes the cosine transform of type I, by a Fourier transform of an even extension.

    The extension is even about both ends.
    """
    n, root = x.shape[-1], math.sqrt(2.0)
    if norm == "ortho":
        x = _times(x, _ends(n, root, root))
    even = onp.concatenate([x, x[..., -2:0:-1]], axis=-1)
    result = _scaled(lax.real(onp.fft.rfft(even)), norm, 2 * (n - 1))
    return _times(result, _ends(n, 1 / root, 1 / root)) if norm == "ortho" else result


def _second(x: Any, norm: str) -> Any:
    """Computes the cosine transform of type II, by one Fourier transform of the same length.

    The method is from Makhoul: A fast cosine transform in one and two dimensions. IEEE Trans.
    Acoust., Speech, Signal Process. 28 (1980).
    """
    n = x.shape[-1]
    ordered = onp.concatenate([x[..., ::2], x[..., 1::2][..., ::-1]], axis=-1)
    turned = _times(onp.fft.fft(ordered), _rotations(-np.pi * np.arange(n) / (2 * n)))
    result = _scaled(2.0 * lax.real(turned), norm, 2 * n)
    if norm == "ortho":
        weights = np.ones(n)
        weights[0] = math.sqrt(0.5)
        result = _times(result, weights)
    return result


def _third(x: Any, norm: str) -> Any:
    """Computes the cosine transform of type III, by a Fourier transform of twice the length."""
    n = x.shape[-1]
    weights = np.full(n, 2.0)
    weights[0] = math.sqrt(2.0) if norm == "ortho" else 1.0
    turned = _times(x, weights * _rotations(np.pi * np.arange(n) / (2 * n)))
    result = lax.real(onp.fft.ifft(turned, n=2 * n, norm="forward")[..., :n])
    return _scaled(result, norm, 2 * n)


def _fourth(x: Any, norm: str) -> Any:
    n = x.shape[-1]
    turned = _times(x, _rotations(-np.pi * np.arange(n) / (2 * n)))
    transformed = onp.fft.fft(turned, n=2 * n)[..., :n]
    back = _rotations(-np.pi * (2 * np.arange(n) + 1) / (4 * n))
    return _scaled(2.0 * lax.real(_times(transformed, back)), norm, 2 * n)


_TRANSFORMS = {1: _first, 2: _second, 3: _third, 4: _fourth}
