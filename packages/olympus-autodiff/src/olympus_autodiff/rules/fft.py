# SPDX-License-Identifier: Apache-2.0
"""Derivatives of Fourier transforms, which are linear.

The matrix of a complex transform is symmetric, so the transform is its own transpose. A real
transform keeps half of the spectrum. The first element, and the last element if the length is even,
have weight 1. Each other element also stands for its conjugate, so its weight is 2.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.fft import FftType
from olympus_ir.programs.jit import jit

from ..tables import jvp_rules, linear, transpose_rules
from ..zeros import aval_of

jvp_rules.define(lax.fft_p, linear)


@transpose_rules.define(lax.fft_p)
def _fft_transpose(
    cotangent: Any, x: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> list[Any]:
    if not fft_lengths:  # the operation only converts between real and complex dtypes
        return [_without_transform(cotangent, fft_type)]
    if fft_type is FftType.RFFT:
        return [_rfft_transpose(cotangent, fft_lengths)]
    if fft_type is FftType.IRFFT:
        return [_irfft_transpose(cotangent, fft_lengths)]
    return [lax.fft(cotangent, fft_type, fft_lengths)]


def _without_transform(cotangent: Any, fft_type: FftType) -> Any:
    if fft_type is FftType.RFFT:
        return lax.real(cotangent)
    if fft_type is FftType.IRFFT:
        return lax.complex(cotangent, lax.full_like(cotangent, 0))
    return cotangent


def _multiplicities(shape: tuple[int, ...], length: int, dtype: Any) -> Any:
    """Returns the number of elements that each element of a half spectrum stands for."""
    weights = np.full(shape[-1], 2, dtype)
    weights[:1] = 1
    if length % 2 == 0:
        weights[-1:] = 1
    return lax.broadcast_in_dim(weights, (1,) * (len(shape) - 1) + shape[-1:], (len(shape) - 1,))


def _rfft_transpose_of(cotangent: Any, fft_lengths: tuple[int, ...]) -> Any:
    aval = aval_of(cotangent)
    weights = _multiplicities(aval.shape, fft_lengths[-1], aval.dtype)
    result = lax.fft(lax.div(lax.conj(cotangent), weights), FftType.IRFFT, fft_lengths)
    size = np.asarray(math.prod(fft_lengths), aval_of(result).dtype)
    return lax.mul(size, result)


_rfft_transpose = jit(_rfft_transpose_of, static_argnums=1, name="_rfft_transpose")


def _irfft_transpose_of(cotangent: Any, fft_lengths: tuple[int, ...]) -> Any:
    transformed = lax.fft(cotangent, FftType.RFFT, fft_lengths)
    aval = aval_of(transformed)
    weights = _multiplicities(aval.shape, fft_lengths[-1], aval.dtype)
    scale = np.asarray(0 if 0 in fft_lengths else 1 / math.prod(fft_lengths), aval.dtype)
    return lax.conj(lax.mul(lax.mul(scale, weights), transformed))


_irfft_transpose = _irfft_transpose_of
