# SPDX-License-Identifier: Apache-2.0
"""Spectra of signals: short-time Fourier transforms, and averages by Welch's method."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.programs.tracing import Tracer
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.axes import canonical_axis
from olympus_numpy.core.options import is_among
from olympus_numpy.core.promotion import check_arraylike, promote_dtypes_inexact

from .trends import detrend as remove_trend
from .windows import window_of

__all__ = ["csd", "istft", "stft", "welch"]


# ---- segments ----


def _window(window: Any, size: int) -> Any:
    """Converts a window to a NumPy vector; returns a traced window unchanged."""
    if not isinstance(window, Tracer):
        return window_of(window, size)
    if window.ndim != 1:
        raise ValueError(f"window must be 1-D, got the shape {window.shape}")
    return window


def _segment_length(window: Any, nperseg: Any, length: int) -> tuple[Any, int]:
    """Returns the window, and the number of samples of a segment."""
    if not length:
        raise ValueError("Spectra take signals of at least one sample, got an empty signal.")
    named = isinstance(window, str | tuple)
    if named:
        nperseg = 256 if nperseg is None else int(nperseg)
        if nperseg < 1:
            raise ValueError(f"nperseg must be a positive integer, got {nperseg}.")
        if nperseg > length:
            warn_user(
                f"nperseg = {nperseg} is greater than input length = {length}, using nperseg = "
                f"{length}"
            )
            nperseg = length
        return _window(window, nperseg), nperseg
    values = _window(window, 0)
    if values.shape[0] > length:
        raise ValueError(
            f"window is longer than input signal: {values.shape[0]} and {length} samples"
        )
    if nperseg is not None and nperseg != values.shape[0]:
        raise ValueError(
            f"value specified for nperseg is different from length of window: {nperseg} and "
            f"{values.shape[0]}"
        )
    return values, values.shape[0]


def _overlap(noverlap: Any, nperseg: int) -> int:
    noverlap = nperseg // 2 if noverlap is None else int(noverlap)
    if noverlap >= nperseg:
        raise ValueError(f"noverlap must be less than nperseg, got {noverlap} and {nperseg}.")
    return noverlap


def _transform_length(nfft: Any, nperseg: int) -> int:
    nfft = nperseg if nfft is None else int(nfft)
    if nfft < nperseg:
        raise ValueError(f"nfft must be greater than or equal to nperseg, got {nfft} < {nperseg}.")
    return nfft


def _extended(x: Any, count: int, boundary: str) -> Any:
    """Extends samples at both ends."""
    shape = (*x.shape[:-1], count)
    if boundary == "zeros":
        left = right = onp.zeros(shape, x.dtype)
    elif boundary == "constant":
        left = onp.broadcast_to(x[..., :1], shape)
        right = onp.broadcast_to(x[..., -1:], shape)
    else:
        left, right = x[..., count:0:-1], x[..., -2 : -(count + 2) : -1]
        if boundary == "odd":
            left, right = 2 * x[..., :1] - left, 2 * x[..., -1:] - right
    return onp.concatenate([left, x, right], axis=-1)


def _segments(x: Any, nperseg: int, step: int) -> Any:
    """Splits samples into segments: [..., n] -> [..., number of segments, nperseg]."""
    count = (x.shape[-1] - nperseg) // step + 1
    positions = np.arange(count)[:, None] * step + np.arange(nperseg)[None, :]
    return x[..., positions]


def _without_trend(segments: Any, detrend: Any) -> Any:
    if detrend is False or detrend is None:
        return segments
    if callable(detrend):
        return detrend(segments)
    return remove_trend(segments, type=detrend)


_BOUNDARIES = ("even", "odd", "constant", "zeros", None)


def _with_zeros(signal: Any, count: int) -> Any:
    """Appends zeros to a signal along its last axis."""
    return onp.pad(signal, [(0, 0)] * (signal.ndim - 1) + [(0, count)]) if count else signal


def _spectrogram(
    x: Any,
    y: Any,
    *,
    window: Any,
    nperseg: Any,
    noverlap: Any,
    nfft: Any,
    detrend: Any,
    return_onesided: bool,
    scaling: str,
    axis: int,
    mode: str,
    boundary: str | None,
    padded: bool,
) -> tuple[Any, Any, Any]:
    """Returns frequencies, times, and the transforms of segments.

    For two signals, products of their transforms replace the transforms.

    Frequencies and times refer to a sampling rate of one.
    """
    if not is_among(boundary, _BOUNDARIES):
        raise ValueError(
            f"Unknown boundary option '{boundary}', must be one of: {list(_BOUNDARIES)}"
        )
    if scaling not in ("density", "spectrum"):
        raise ValueError(f"Unknown scaling: {scaling}; it is 'density' or 'spectrum'.")
    operands = [onp.asarray(signal) for signal in ((x,) if y is None else (x, y))]
    axis = canonical_axis(axis, operands[0].ndim)
    operands = [onp.moveaxis(array, axis, -1) for array in promote_dtypes_inexact(*operands)]
    dtype = operands[0].dtype
    length = max(operand.shape[-1] for operand in operands)
    values, nperseg = _segment_length(window, nperseg, length)
    nfft, noverlap = _transform_length(nfft, nperseg), _overlap(noverlap, nperseg)
    step = nperseg - noverlap
    onesided = return_onesided and not dtypes.issubdtype(dtype, np.complexfloating)
    prepared = []
    for signal in operands:
        signal = _with_zeros(signal, length - signal.shape[-1])
        if boundary is not None:
            signal = _extended(signal, nperseg // 2, boundary)
        if padded:
            signal = _with_zeros(signal, (-(signal.shape[-1] - nperseg) % step) % nperseg)
        prepared.append(signal)
    total = prepared[0].shape[-1]
    weights = values.astype(dtype)
    transforms = []
    for signal in prepared:
        segments = _without_trend(_segments(signal, nperseg, step), detrend)
        segments = segments * lax.broadcast_to_rank(weights, segments.ndim)
        transform = onp.fft.rfft if onesided else onp.fft.fft
        transforms.append(transform(segments, nfft))
    scale = 1 / (values**2).sum() if scaling == "density" else 1 / values.sum() ** 2
    scale = float(scale) if isinstance(values, np.ndarray) else scale
    if mode == "psd":
        result = onp.conj(transforms[0]) * transforms[-1]
        if onesided:
            doubled = np.full(result.shape[-1], 2.0)
            doubled[0] = 1.0
            if nfft % 2 == 0:
                doubled[-1] = 1.0
            result = result * lax.broadcast_to_rank(doubled.astype(result.dtype), result.ndim)
        result = result * scale
    else:
        result = transforms[0] * scale**0.5
    frequencies = onp.fft.rfftfreq(nfft) if onesided else onp.fft.fftfreq(nfft)
    times = np.arange(nperseg / 2, total - nperseg / 2 + 1, step)
    if boundary is not None:
        times = times - nperseg / 2
    real_dtype = dtypes.to_floating_dtype(result.dtype)
    # [..., time, frequency] -> [..., frequency at the position of the axis, ..., time]
    result = onp.moveaxis(result, -1, axis)
    return frequencies.astype(real_dtype), onp.asarray(times, real_dtype), result


# ---- short-time transforms ----


def stft(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | tuple[Any, ...] | ArrayLike = "hann",
    nperseg: int = 256,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool | None = False,
    return_onesided: bool = True,
    boundary: str | None = "zeros",
    padded: bool = True,
    axis: int = -1,
) -> tuple[Array, Array, Array]:
    """Computes the short-time Fourier transform of a signal.

    Args:
      x: the signal, an array of numbers.
      fs: the sampling rate.
      window: a name, a tuple of a name and parameters, or a vector.
      nperseg: the number of samples of a segment.
      noverlap: the number of samples that neighboring segments share; half of ``nperseg`` if None.
      nfft: the length of the transforms; zeros pad the ``nperseg`` samples to this length.
      detrend: ``"linear"``, ``"constant"``, or False.
      return_onesided: whether to omit the conjugate half of the spectrum of a real signal.
      boundary: the extension of the signal: ``"even"``, ``"odd"``, ``"constant"``, ``"zeros"``, or
        None.
      padded: whether to add zeros to fill the last segment.
      axis: the time axis of ``x``.

    Returns:
      The frequencies and the times (floating vectors), and the transforms (complex). The transforms
      have the frequency axis in the place of ``axis``, and the time axis last.

    Raises:
      ValueError: the window is longer than the signal, or ``nperseg``, ``noverlap``, ``nfft`` or
        ``boundary`` is invalid.

    Example:
      >>> import olympus_numpy as jnp
      >>> stft(jnp.ones(16), nperseg=8)[2].shape
      (5, 5)
    """
    check_arraylike("stft", x)
    frequencies, times, result = _spectrogram(
        x,
        None,
        window=window,
        nperseg=nperseg,
        noverlap=noverlap,
        nfft=nfft,
        detrend=detrend,
        return_onesided=return_onesided,
        scaling="spectrum",
        axis=axis,
        mode="stft",
        boundary=boundary,
        padded=padded,
    )
    return frequencies * fs, times / fs, result


def istft(
    Zxx: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | tuple[Any, ...] | ArrayLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    input_onesided: bool = True,
    boundary: bool = True,
    time_axis: int = -1,
    freq_axis: int = -2,
) -> tuple[Array, Array]:
    """Reconstructs a signal from its short-time Fourier transform: the inverse of `stft`.

    Args:
      Zxx: the transforms, with at least two dimensions.
      fs: the sampling rate.
      window: the window of the transforms.
      nperseg: the number of samples of a segment.
      noverlap: the number of samples that neighboring segments share; half of ``nperseg`` if None.
      nfft: the length of the transforms.
      input_onesided: whether the conjugate half of the spectrum is omitted.
      boundary: whether the signal was extended at its ends.
      time_axis: the time axis of ``Zxx``.
      freq_axis: the frequency axis of ``Zxx``.

    Returns:
      The times and the signal, whose last axis is time.

    Raises:
      ValueError: the axes are equal or too few, or ``nperseg``, ``noverlap``, ``nfft`` or the
        window is invalid.

    Example:
      >>> import olympus_numpy as jnp
      >>> istft(stft(jnp.ones(16), nperseg=8)[2], nperseg=8)[1].shape
      (16,)
    """
    check_arraylike("istft", Zxx)
    Zxx = onp.asarray(Zxx)
    if Zxx.ndim < 2:
        raise ValueError(f"Input stft must be at least 2d! Got the shape {Zxx.shape}.")
    time_axis, freq_axis = canonical_axis(time_axis, Zxx.ndim), canonical_axis(freq_axis, Zxx.ndim)
    if time_axis == freq_axis:
        raise ValueError("Must specify differing time and frequency axes!")
    count, bins = Zxx.shape[time_axis], Zxx.shape[freq_axis]
    default = 2 * (bins - 1) if input_onesided else bins
    segment: int = default if nperseg is None else int(nperseg)
    if segment < 1:
        raise ValueError(f"nperseg must be a positive integer, got {segment}.")
    if nfft is None:
        nfft = segment if input_onesided and segment == default + 1 else default
    nfft, noverlap = _transform_length(nfft, segment), _overlap(noverlap, segment)
    values = _window(window, segment)
    if values.shape[0] != segment:
        raise ValueError(f"window must have length of {segment}, got {values.shape[0]}")
    (transforms,) = promote_dtypes_inexact(onp.moveaxis(Zxx, (freq_axis, time_axis), (-1, -2)))
    inverse = onp.fft.irfft if input_onesided else onp.fft.ifft
    parts = inverse(transforms, nfft)[..., :segment]
    real_dtype = dtypes.to_floating_dtype(parts.dtype)
    weights = (values.sum() * values).astype(parts.dtype)
    parts = parts * lax.broadcast_to_rank(weights, parts.ndim)
    step = segment - noverlap
    total = segment + (count - 1) * step
    positions = np.arange(count)[:, None] * step + np.arange(segment)[None, :]
    signal = onp.zeros((*parts.shape[:-2], total), parts.dtype).at[..., positions].add(parts)
    norm = _overlapping_sum(values**2, positions, total)
    if boundary:
        signal = signal[..., segment // 2 : total - segment // 2]
        norm = norm[segment // 2 : total - segment // 2]
    if isinstance(norm, np.ndarray) and np.any(norm < 1e-10):
        warn_user("NOLA condition failed, STFT may not be invertible")
    where = np.where if isinstance(norm, np.ndarray) else onp.where
    norm = where(norm > 1e-10, norm, 1.0).astype(signal.dtype)
    signal = signal / lax.broadcast_to_rank(norm, signal.ndim)
    if freq_axis < time_axis:
        time_axis -= 1
    times: Any = np.arange(signal.shape[-1]).astype(real_dtype) / onp.asarray(fs, real_dtype)
    return times, onp.moveaxis(signal, -1, time_axis)


def _overlapping_sum(values: Any, positions: np.ndarray, total: int) -> Any:
    """Adds a copy of ``values`` at each row of ``positions``; returns the sums."""
    if not isinstance(values, np.ndarray):
        return onp.zeros(total, values.dtype).at[positions].add(values)
    sums = np.zeros(total)
    np.add.at(sums, positions, np.broadcast_to(values, positions.shape))
    return sums


# ---- averages ----


def csd(
    x: ArrayLike,
    y: ArrayLike | None,
    fs: ArrayLike = 1.0,
    window: str | tuple[Any, ...] | ArrayLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool | Callable[[Array], ArrayLike] | None = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Estimates the cross power spectral density of two signals by Welch's method.

    Source: Welch: The use of fast Fourier transform for the estimation of power spectra. IEEE
    Trans. Audio Electroacoust. 15 (1967).

    Args:
      x: a signal.
      y: the other signal; ``x`` itself if None.
      fs: the sampling rate.
      window: as in `stft`.
      nperseg: as in `stft`; 256 if None.
      noverlap: as in `stft`.
      nfft: as in `stft`.
      detrend: as in `stft`.
      return_onesided: as in `stft`.
      scaling: ``"density"`` for power per frequency, ``"spectrum"`` for power.
      axis: the time axis.
      average: ``"mean"`` or ``"median"`` over segments.

    Returns:
      The frequencies (a floating vector) and the spectrum, whose axis of frequencies replaces
      ``axis``.

    Raises:
      ValueError: ``average`` or ``scaling`` is unknown, or an argument is invalid as in `stft`.

    Example:
      >>> import olympus_numpy as jnp
      >>> csd(jnp.ones(16), jnp.ones(16), nperseg=8)[1].shape
      (5,)
    """
    check_arraylike("csd", x, x if y is None else y)
    if average not in ("mean", "median"):
        raise ValueError(f'average must be "median" or "mean", got {average}')
    frequencies, _, result = _spectrogram(
        x,
        y,
        window=window,
        nperseg=nperseg,
        noverlap=noverlap,
        nfft=nfft,
        detrend=detrend,
        return_onesided=return_onesided,
        scaling=scaling,
        axis=axis,
        mode="psd",
        boundary=None,
        padded=False,
    )
    if average == "mean":
        result = onp.mean(result, axis=-1)
    else:
        bias = _median_bias(result.shape[-1])
        medians = [onp.median(part, axis=-1) for part in (onp.real(result), onp.imag(result))]
        result = lax.complex(*medians) / bias
    if y is None:
        result = onp.real(result)
    return frequencies * fs, result / fs if scaling == "density" else result


def _median_bias(count: int) -> float:
    """Returns the expected median of a sample from the exponential distribution of mean one."""
    even = 2 * np.arange(1.0, (count - 1) // 2 + 1)
    return float(1 + np.sum(1 / (even + 1) - 1 / even))


def welch(
    x: ArrayLike,
    fs: ArrayLike = 1.0,
    window: str | tuple[Any, ...] | ArrayLike = "hann",
    nperseg: int | None = None,
    noverlap: int | None = None,
    nfft: int | None = None,
    detrend: str | bool | Callable[[Array], ArrayLike] | None = "constant",
    return_onesided: bool = True,
    scaling: str = "density",
    axis: int = -1,
    average: str = "mean",
) -> tuple[Array, Array]:
    """Estimates the power spectral density of a signal by Welch's method; see `csd`.

    Args:
      x: a signal, an array of numbers.
      fs: the sampling rate.
      window: as in `stft`.
      nperseg: as in `stft`; 256 if None.
      noverlap: as in `stft`.
      nfft: as in `stft`.
      detrend: as in `stft`.
      return_onesided: as in `stft`.
      scaling: ``"density"`` for power per frequency, ``"spectrum"`` for power.
      axis: the time axis.
      average: ``"mean"`` or ``"median"`` over segments.

    Returns:
      The frequencies (a floating vector) and the real spectrum, whose axis of frequencies replaces
      ``axis``.

    Raises:
      ValueError: ``average`` or ``scaling`` is unknown, or an argument is invalid as in `stft`.

    Example:
      >>> import olympus_numpy as jnp
      >>> welch(jnp.ones(16), nperseg=8)[1].shape
      (5,)
    """
    check_arraylike("welch", x)
    return csd(
        x, None, fs, window, nperseg, noverlap, nfft, detrend, return_onesided, scaling, axis,
        average,
    )  # fmt: skip
