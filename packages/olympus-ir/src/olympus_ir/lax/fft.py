# SPDX-License-Identifier: Apache-2.0
"""Discrete Fourier transforms over the last dimensions."""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..programs.jit import jit
from ..programs.primitives import instruction
from ..programs.tracing import is_constant_dim
from ..types import dtypes
from ..types.avals import ShapedArray
from .core.values import Array, ArrayLike, dtype_of
from .elementwise.conversion import convert_dtype

__all__ = ["FftType", "fft", "fft_p"]

MAX_FFT_RANK = 3


class FftType(enum.IntEnum):
    """The kinds of discrete Fourier transforms.

    Attributes:
      FFT: the forward transform of complex numbers.
      IFFT: the inverse of ``FFT``.
      RFFT: the forward transform of real numbers. The result has only the first half of the last
        dimension, because the second half would contain the conjugates of the first.
      IRFFT: the inverse of ``RFFT``.
    """

    FFT = 0
    IFFT = 1
    RFFT = 2
    IRFFT = 3


fft_p = instruction("fft", family="fft")
fft_p.linear_in = True


def half_length(length: int) -> int:
    """Returns the length of the result of an RFFT, given the length of the real operand."""
    return length // 2 + 1 if length else 0


@fft_p.def_abstract_eval
def _fft_shape(x: ShapedArray, *, fft_type: FftType, fft_lengths: tuple) -> ShapedArray:
    rank = len(fft_lengths)
    if rank > MAX_FFT_RANK:
        raise ValueError(
            f"fft transforms at most {MAX_FFT_RANK} dimensions at once, got fft_lengths "
            f"{fft_lengths}; olympus.numpy.fft.fftn transforms any number of them."
        )
    if x.ndim < rank:
        raise ValueError(
            f"FFT input shape {x.shape} must have at least as many input dimensions as "
            f"fft_lengths {fft_lengths}."
        )
    if fft_type is FftType.RFFT:
        return _rfft_type(x, fft_lengths)
    if fft_type is FftType.IRFFT:
        return _irfft_type(x, fft_lengths)
    if not dtypes.issubdtype(x.dtype, np.complexfloating):
        raise TypeError(
            f"{fft_type.name} takes complex numbers, got {x.str_short(short_dtypes=True)}; use "
            "lax.fft, which converts real numbers."
        )
    if rank and x.shape[-rank:] != fft_lengths:
        raise ValueError(
            f"FFT input shape {x.shape} minor dimensions must be equal to fft_lengths {fft_lengths}"
        )
    return ShapedArray.varying(x.shape, x.dtype, vma=x.vma)


def _rfft_type(x: ShapedArray, fft_lengths: tuple) -> ShapedArray:
    if x.dtype not in (np.float32, np.float64):
        raise ValueError(
            f"RFFT input must be float32 or float64, got {dtypes.name_of(x.dtype)}. Convert it "
            "with lax.convert_element_type."
        )
    rank = len(fft_lengths)
    if rank and x.shape[-rank:] != fft_lengths:
        raise ValueError(
            f"RFFT input shape {x.shape} minor dimensions must be equal to fft_lengths "
            f"{fft_lengths}"
        )
    shape = (*x.shape[:-1], half_length(fft_lengths[-1])) if rank else x.shape
    return ShapedArray.varying(shape, dtypes.to_complex_dtype(x.dtype), vma=x.vma)


def _irfft_type(x: ShapedArray, fft_lengths: tuple) -> ShapedArray:
    if not dtypes.issubdtype(x.dtype, np.complexfloating):
        raise TypeError(
            f"IRFFT takes complex numbers, got {x.str_short(short_dtypes=True)}; use lax.fft, "
            "which converts real numbers."
        )
    rank = len(fft_lengths)
    shape = x.shape
    if rank:
        expected = (*fft_lengths[:-1], half_length(fft_lengths[-1]))
        if x.shape[-rank:] != expected:
            raise ValueError(
                f"IRFFT input shape {x.shape} minor dimensions must be equal to all except the "
                f"last fft_length, and the last one to fft_lengths[-1] // 2 + 1: {expected} for "
                f"fft_lengths {fft_lengths}"
            )
        shape = (*x.shape[:-1], fft_lengths[-1])
    return ShapedArray.varying(shape, dtypes.to_floating_dtype(x.dtype), vma=x.vma)


def fft(x: ArrayLike, fft_type: FftType | str, fft_lengths: Sequence[int]) -> Array:
    """Computes the discrete Fourier transform over the last dimensions.

    Forward transforms are not scaled. Inverse transforms are divided by the number of elements.

    Args:
      x: an array of numbers. Real numbers are converted if the transform takes complex numbers.
      fft_type: an `FftType` or its name.
      fft_lengths: the sizes of the transformed dimensions, at most three; for transforms of real
        numbers, the sizes of the array of real numbers.

    Returns:
      An array of complex numbers; of floats for ``IRFFT``.

    Raises:
      ValueError: if ``fft_type`` is unknown, the shape does not match ``fft_lengths``, or the
        elements are complex and the transform takes real numbers.
      NotImplementedError: if a transformed dimension is symbolic.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.fft(np.ones(4, np.float32), "RFFT", (4,))
      Array([4.+0.j, 0.+0.j, 0.+0.j], dtype=complex64)
    """
    if isinstance(fft_lengths, str) or not np.iterable(fft_lengths):
        raise TypeError(f"fft_lengths must be a sequence of integers, got {fft_lengths!r}.")
    if not all(map(is_constant_dim, fft_lengths)):
        raise NotImplementedError(
            "fft over dimensions of symbolic size is not implemented: XLA's transforms have known "
            f"lengths, got fft_lengths={tuple(fft_lengths)}"
        )
    return _compiled_fft()(x, _fft_type(fft_type), tuple(map(int, fft_lengths)))


def _fft_type(type_or_name: Any) -> FftType:
    try:
        return (
            FftType[type_or_name.upper()]
            if isinstance(type_or_name, str)
            else FftType(type_or_name)
        )
    except (KeyError, ValueError):
        names = ", ".join(kind.name for kind in FftType)
        raise ValueError(f"Unknown FFT type {type_or_name!r}; the types are {names}.") from None


def _transform(x: Any, fft_type: FftType, fft_lengths: tuple[int, ...]) -> Any:
    dtype = dtype_of(x)
    if fft_type is not FftType.RFFT:
        x = convert_dtype(x, dtypes.to_complex_dtype(dtype))
    elif dtypes.issubdtype(dtype, np.complexfloating):
        raise ValueError(
            f"only real valued inputs supported for rfft, got {dtypes.name_of(dtype)}; pass "
            "lax.real of the operand, or use the transform of complex numbers."
        )
    elif not dtypes.issubdtype(dtype, np.floating):
        x = convert_dtype(x, dtypes.to_inexact_dtype(dtype))
    return fft_p.bind(x, fft_type=fft_type, fft_lengths=fft_lengths)


@functools.cache
def _compiled_fft() -> Callable[..., Array]:
    # The function is compiled at first use, because the evaluator is chosen after this module is
    # imported.
    return jit(_transform, static_argnums=(1, 2), name="fft")
