# SPDX-License-Identifier: Apache-2.0
"""Reference rule of discrete Fourier transforms, by NumPy in double precision."""

from __future__ import annotations

import numpy as np

from ..lax.fft import FftType, fft_p
from ..types import dtypes
from .numerics import widen
from .tables import reference_rules


@reference_rules.define(fft_p)
def _fft(x: np.ndarray, *, fft_type: FftType, fft_lengths: tuple[int, ...]) -> np.ndarray:
    axes = tuple(range(-len(fft_lengths), 0))
    to_complex = dtypes.to_complex_dtype(x.dtype)
    if not axes or 0 in x.shape or 0 in fft_lengths:
        return _without_elements(x, fft_type, fft_lengths)
    if fft_type is FftType.FFT:
        return np.fft.fftn(widen(x), axes=axes).astype(x.dtype)
    if fft_type is FftType.IFFT:
        return np.fft.ifftn(widen(x), axes=axes).astype(x.dtype)
    if fft_type is FftType.RFFT:
        return np.fft.rfftn(widen(x), axes=axes).astype(to_complex)
    result = np.fft.irfftn(widen(x), s=fft_lengths, axes=axes)
    return result.astype(dtypes.to_floating_dtype(x.dtype))


def _without_elements(x: np.ndarray, fft_type: FftType, fft_lengths: tuple[int, ...]) -> np.ndarray:
    """Returns the transform of an array without elements, which is also empty."""
    shape = x.shape
    dtype = x.dtype
    if fft_type is FftType.RFFT:
        dtype = dtypes.to_complex_dtype(dtype)
        if fft_lengths:
            shape = (*shape[:-1], fft_lengths[-1] // 2 + 1 if fft_lengths[-1] else 0)
    elif fft_type is FftType.IRFFT:
        dtype = dtypes.to_floating_dtype(dtype)
        shape = (*shape[:-1], *fft_lengths[-1:]) if fft_lengths else shape
    if 0 in shape:
        return np.zeros(shape, dtype)
    return (np.real(x) if dtype.kind == "f" else x).astype(dtype)
