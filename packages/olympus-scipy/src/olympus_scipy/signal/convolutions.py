# SPDX-License-Identifier: Apache-2.0
"""Convolutions and correlations of arrays of any rank."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.axes import unique_axes
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.options import is_among
from olympus_numpy.core.promotion import check_arraylike, promote_dtypes_inexact

if TYPE_CHECKING:
    from olympus_ir.lax.contractions.dot_algorithms import PrecisionLike

__all__ = ["convolve", "convolve2d", "correlate", "correlate2d", "fftconvolve"]

_MODES = ("full", "same", "valid")
_METHODS = ("auto", "direct", "fft")


def _check(function: str, in1: Any, in2: Any, mode: str) -> None:
    check_arraylike(function, in1, in2)
    if not is_among(mode, _MODES):
        raise ValueError(f"mode must be one of {list(_MODES)}, got {mode!r}")
    if onp.ndim(in1) != onp.ndim(in2):
        raise ValueError(
            "in1 and in2 should have the same dimensionality, got the shapes "
            f"{onp.shape(in1)} and {onp.shape(in2)}"
        )
    if 0 in (*onp.shape(in1), *onp.shape(in2)):
        raise ValueError(
            "zero-size arrays not supported in convolutions, got shapes "
            f"{onp.shape(in1)} and {onp.shape(in2)}."
        )


def _check_method(method: str) -> None:
    if not is_among(method, _METHODS):
        raise ValueError(f"Got {method=}; expected 'auto', 'fft', or 'direct'.")


def _is_inside(function: str, in1: Any, in2: Any, mode: str) -> bool:
    """Returns whether the mode is "valid" and the first operand is smaller than the second.

    The operands must then be exchanged.

    Raises:
      ValueError: the mode is "valid" and neither operand fits within the other.
    """
    if mode != "valid":
        return False
    pairs = list(zip(onp.shape(in1), onp.shape(in2), strict=True))
    if all(first >= second for first, second in pairs):
        return False
    if all(first <= second for first, second in pairs):
        return True
    raise ValueError(
        f"{function} with mode 'valid': one input must be at least as large as the other in every "
        f"dimension, got the shapes {onp.shape(in1)} and {onp.shape(in2)}"
    )


def convolve(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Convolves two arrays.

    Args:
      in1: an array of numbers.
      in2: an array of the same rank.
      mode: ``"full"``; ``"same"`` for the shape of ``in1``; ``"valid"`` for the elements that need
        no padding.
      method: ``"direct"``, ``"fft"``, or ``"auto"``, which means ``"direct"``.
      precision: the precision of the products, as for `lax.dot_general`.

    Returns:
      An array of inexact dtype. Depending on the mode, its length along each dimension is
      n1 + n2 - 1, n1, or |n1 - n2| + 1.

    Raises:
      ValueError: the mode or the method is unknown, or the shapes do not fit.

    Example:
      >>> import olympus_numpy as jnp
      >>> convolve(jnp.array([1.0, 2.0]), jnp.array([1.0, 1.0]))
      Array([1., 3., 2.], dtype=float32)
    """
    _check("convolve", in1, in2, mode)
    _check_method(method)
    if method == "fft":
        return fftconvolve(in1, in2, mode)
    if _is_inside("convolve", in1, in2, mode):
        in1, in2 = in2, in1
    return _windowed(in1, in2, mode, True, False, precision)


def correlate(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    method: str = "auto",
    precision: PrecisionLike = None,
) -> Array:
    """Cross-correlates two arrays.

    Args:
      in1: an array of numbers.
      in2: an array of the same rank, which is conjugated.
      mode: as in `convolve`.
      method: as in `convolve`.
      precision: the precision of the products, as for `lax.dot_general`.

    Returns:
      An array of inexact dtype, of the shape that `convolve` returns.

    Raises:
      ValueError: the mode or the method is unknown, or the shapes do not fit.

    Example:
      >>> import olympus_numpy as jnp
      >>> correlate(jnp.array([1.0, 2.0]), jnp.array([0.0, 1.0]))
      Array([1., 2., 0.], dtype=float32)
    """
    _check("correlate", in1, in2, mode)
    _check_method(method)
    if method == "fft":
        return fftconvolve(in1, onp.flip(onp.conj(in2)), mode)
    if _is_inside("correlate", in1, in2, mode):
        return onp.flip(onp.conj(_windowed(in2, in1, mode, False, False, precision)))
    return _windowed(in1, in2, mode, False, False, precision)


def _check_2d(function: str, in1: Any, in2: Any, mode: str, boundary: str, fillvalue: Any) -> None:
    if boundary != "fill" or fillvalue != 0:
        raise NotImplementedError(
            f"{function}() only supports boundary='fill', fillvalue=0; extend the input with "
            "olympus.numpy.pad for others."
        )
    if onp.ndim(in1) != 2 or onp.ndim(in2) != 2:
        raise ValueError(f"{function}() only supports 2-dimensional inputs.")
    _check(function, in1, in2, mode)


def convolve2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Convolves two matrices.

    Args:
      in1: a matrix.
      in2: a matrix.
      mode: as in `convolve`.
      boundary: must be ``"fill"``.
      fillvalue: must be 0.
      precision: the precision of the products, as for `lax.dot_general`.

    Returns:
      A matrix of inexact dtype, of the shape that `convolve` returns.

    Raises:
      ValueError: the mode is unknown, or an operand is not a matrix.
      NotImplementedError: ``boundary`` or ``fillvalue`` is not the default.

    Example:
      >>> import olympus_numpy as jnp
      >>> convolve2d(jnp.ones((1, 2)), jnp.ones((1, 1)))
      Array([[1., 1.]], dtype=float32)
    """
    _check_2d("convolve2d", in1, in2, mode, boundary, fillvalue)
    return convolve(in1, in2, mode, "direct", precision)


def correlate2d(
    in1: ArrayLike,
    in2: ArrayLike,
    mode: str = "full",
    boundary: str = "fill",
    fillvalue: float = 0,
    precision: PrecisionLike = None,
) -> Array:
    """Cross-correlates two matrices.

    Args:
      in1: a matrix.
      in2: a matrix.
      mode: as in `convolve`.
      boundary: must be ``"fill"``.
      fillvalue: must be 0.
      precision: the precision of the products, as for `lax.dot_general`.

    Returns:
      A matrix of inexact dtype, of the shape that `convolve` returns.

    Raises:
      ValueError: the mode is unknown, or an operand is not a matrix.
      NotImplementedError: ``boundary`` or ``fillvalue`` is not the default.

    Example:
      >>> import olympus_numpy as jnp
      >>> correlate2d(jnp.ones((1, 2)), jnp.ones((1, 1)))
      Array([[1., 1.]], dtype=float32)
    """
    _check_2d("correlate2d", in1, in2, mode, boundary, fillvalue)
    if mode != "same":
        return correlate(in1, in2, mode, "direct", precision)
    # For even sizes, SciPy centers the result of this function differently from `correlate`.
    return _windowed(in1, in2, mode, False, True, precision)


@outlined("mode", "flipped", "late", "precision")
def _windowed(in1: Any, in2: Any, mode: str, flipped: bool, late: bool, precision: Any) -> Any:
    """Correlates two arrays, or convolves them if ``flipped``; ``mode`` determines the padding.

    For the mode "same" and kernels of even size, the windows start one element later if ``late``.
    """
    in1, in2 = promote_dtypes_inexact(in1, in2)
    if not in1.ndim:
        return in1 * (in2 if flipped else onp.conj(in2))
    kernel = onp.flip(in2) if flipped else onp.conj(in2)
    padding = []
    for size in kernel.shape:
        start = size // 2 if late else (size - 1) // 2
        padding.append(
            {"full": (size - 1, size - 1), "same": (size - 1 - start, start), "valid": (0, 0)}[mode]
        )
    result = lax.conv_general_dilated(
        in1[None, None],
        kernel[None, None],
        window_strides=(1,) * in1.ndim,
        padding=padding,
        precision=precision,
    )
    return result[0, 0]


def fftconvolve(
    in1: ArrayLike, in2: ArrayLike, mode: str = "full", axes: Sequence[int] | None = None
) -> Array:
    """Convolves two arrays by Fourier transforms.

    Args:
      in1: an array of numbers.
      in2: an array of the same rank.
      mode: as in `convolve`.
      axes: the axes to convolve over; all if None. The sizes of other axes must be equal.

    Returns:
      An array of inexact dtype, of the shape that `convolve` returns.

    Raises:
      ValueError: the mode is unknown, or the shapes do not fit.

    Example:
      >>> import olympus_numpy as jnp
      >>> fftconvolve(jnp.array([1.0]), jnp.array([2.0]))
      Array([2.], dtype=float32)
    """
    _check("fftconvolve", in1, in2, mode)
    shape1, shape2 = onp.shape(in1), onp.shape(in2)
    if axes is None:
        axes = tuple(range(len(shape1)))
    elif isinstance(axes, int | np.integer):
        axes = (int(axes),)
    axes = unique_axes(tuple(axes), len(shape1))
    if any(
        first != second
        for axis, (first, second) in enumerate(zip(shape1, shape2, strict=True))
        if axis not in axes
    ):
        raise ValueError(
            f"mapped axes must have same shape; got in1.shape={shape1} in2.shape={shape2} "
            f"axes={axes}"
        )
    if _is_inside("fftconvolve", in1, in2, mode):
        in1, in2 = in2, in1
    return _by_transforms(in1, in2, mode, tuple(sorted(axes)))


@outlined("mode", "axes")
def _by_transforms(in1: Any, in2: Any, mode: str, axes: tuple[int, ...]) -> Any:
    in1, in2 = promote_dtypes_inexact(in1, in2)
    if not in1.ndim:
        return in1 * in2
    if not axes:
        return in1 * in2
    dtype = in1.dtype
    if dtypes.finfo(dtype).bits < 32:
        in1, in2 = in1.astype(np.float32), in2.astype(np.float32)
    lengths = tuple(in1.shape[axis] + in2.shape[axis] - 1 for axis in axes)
    if dtypes.issubdtype(dtype, np.complexfloating):
        product = onp.fft.fftn(in1, lengths, axes) * onp.fft.fftn(in2, lengths, axes)
        full = onp.fft.ifftn(product, lengths, axes)
    else:
        product = onp.fft.rfftn(in1, lengths, axes) * onp.fft.rfftn(in2, lengths, axes)
        full = onp.fft.irfftn(product, lengths, axes)
    starts, sizes = [0] * in1.ndim, list(full.shape)
    for axis in axes:
        if mode == "same":
            sizes[axis] = in1.shape[axis]
            starts[axis] = (in2.shape[axis] - 1) // 2
        elif mode == "valid":
            sizes[axis] = in1.shape[axis] - in2.shape[axis] + 1
            starts[axis] = in2.shape[axis] - 1
    ends = [start + size for start, size in zip(starts, sizes, strict=True)]
    return lax.slice(full, starts, ends).astype(dtype)
