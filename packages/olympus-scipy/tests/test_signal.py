# SPDX-License-Identifier: Apache-2.0
"""Comparison of convolutions, trends and spectra with SciPy."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.signal as expected_signal

import olympus_numpy as jnp
from olympus_autodiff import grad, jvp, vjp
from olympus_ir.programs.jit import jit
from olympus_ir.settings import config
from olympus_ir.types.arrays import Array
from olympus_scipy import signal
from olympus_scipy.signal.windows import window_of
from olympus_testing import check_grads

GENERATOR = np.random.default_rng(0)
MODES = ("full", "same", "valid")
PAIRS = [((7,), (3,)), ((3,), (6,)), ((5, 6), (2, 3)), ((4, 3, 5), (2, 2, 3)), ((4,), (4,))]


def arrays(shapes, dtype=np.float64):
    found = [GENERATOR.normal(size=shape) for shape in shapes]
    if np.dtype(dtype).kind == "c":
        found = [each + 1j * GENERATOR.normal(size=each.shape) for each in found]
    return [each.astype(dtype) for each in found]


@pytest.mark.parametrize("dtype", [np.float64, np.complex128])
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("shapes", PAIRS)
def test_convolutions_equal_those_of_scipy(shapes, mode, dtype):
    in1, in2 = arrays(shapes, dtype)
    with config.enable_x64(True):
        for name in ("convolve", "correlate"):
            expected = getattr(expected_signal, name)(in1, in2, mode)
            for method in ("auto", "direct", "fft"):
                found = getattr(signal, name)(in1, in2, mode, method)
                np.testing.assert_allclose(found, expected, atol=1e-12)
        np.testing.assert_allclose(
            signal.fftconvolve(in1, in2, mode),
            expected_signal.fftconvolve(in1, in2, mode),
            atol=1e-12,
        )
        if in1.ndim == 2:
            for name in ("convolve2d", "correlate2d"):
                np.testing.assert_allclose(
                    getattr(signal, name)(in1, in2, mode),
                    getattr(expected_signal, name)(in1, in2, mode),
                    atol=1e-12,
                )


def test_convolutions_along_some_axes():
    in1, in2 = arrays([(3, 5), (3, 2)])
    with config.enable_x64(True):
        np.testing.assert_allclose(
            signal.fftconvolve(in1, in2, axes=1),
            expected_signal.fftconvolve(in1, in2, axes=1),
            atol=1e-12,
        )


def test_dtypes_and_derivatives():
    assert signal.convolve(np.arange(4), np.arange(2)).dtype == np.float32
    assert signal.fftconvolve(np.ones(3, np.float16), np.ones(2, np.float16)).dtype == np.float16
    with config.enable_x64(True):
        for function in (signal.convolve, signal.correlate, signal.fftconvolve):
            check_grads(function, tuple(arrays([(5,), (3,)])), order=2, jvp=jvp, vjp=vjp)


def test_invalid_convolutions_raise():
    line, matrix = np.ones(4, np.float32), np.ones((2, 3), np.float32)
    with pytest.raises(ValueError, match="mode must be one of"):
        signal.convolve(line, line, "half")
    with pytest.raises(ValueError, match="have the same dimensionality"):
        signal.convolve(line, matrix)
    with pytest.raises(ValueError, match="zero-size"):
        signal.correlate(line[:0], line)
    with pytest.raises(ValueError, match="expected 'auto'"):
        signal.convolve(line, line, method="slow")
    with pytest.raises(ValueError, match="at least as large"):
        signal.convolve(matrix, matrix.T, "valid")
    with pytest.raises(NotImplementedError, match="boundary='fill'"):
        signal.convolve2d(matrix, matrix, boundary="wrap")
    with pytest.raises(ValueError, match="only supports 2-dimensional"):
        signal.correlate2d(line, line)
    with pytest.raises(ValueError, match="mapped axes"):
        signal.fftconvolve(matrix, matrix[:1], axes=1)


@pytest.mark.parametrize("type", ["linear", "constant"])
@pytest.mark.parametrize("bp", [0, [3, 7]])
def test_detrended_signals_equal_those_of_scipy(type, bp):
    data = GENERATOR.normal(size=(4, 11)) + 3 * np.arange(11)
    with config.enable_x64(True):
        found = signal.detrend(data, type=type, bp=bp)
        np.testing.assert_allclose(
            found, expected_signal.detrend(data, type=type, bp=bp), atol=1e-12
        )
        moved = signal.detrend(data.T, axis=0, type=type, bp=bp)
    np.testing.assert_allclose(moved, np.asarray(found).T, atol=1e-12)


WINDOWS = [
    "boxcar", "bartlett", "hann", "hamming", "blackman", "nuttall", "blackmanharris", "flattop",
    "bohman", "tukey", ("tukey", 0.3), ("kaiser", 4.0), ("gaussian", 3.0),
]  # fmt: skip
WAVE = GENERATOR.normal(size=(2, 100))


@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows_equal_those_of_scipy(window):
    with config.enable_x64(True):
        found = signal.welch(WAVE, window=window, nperseg=16)[1]
    expected = expected_signal.welch(WAVE, window=window, nperseg=16)[1]
    np.testing.assert_allclose(found, expected, atol=1e-12)


SPECTRA = [
    {},
    {"fs": 3.0, "nperseg": 16},
    {"nperseg": 17, "noverlap": 5, "nfft": 32},
    {"nperseg": 16, "return_onesided": False},
    {"nperseg": 16, "window": np.hanning(16)},
]


@pytest.mark.filterwarnings("ignore:nperseg")
@pytest.mark.parametrize("options", SPECTRA, ids=range(len(SPECTRA)))
def test_short_time_transforms(options):
    for extra in (
        {"detrend": "linear"},
        {"boundary": "even"},
        {"boundary": "odd"},
        {"boundary": "constant"},
        {"boundary": None, "padded": False},
    ):
        expected = expected_signal.stft(WAVE, **options, **extra)
        with config.enable_x64(True):
            found = signal.stft(WAVE, **options, **extra)
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-12)


@pytest.mark.filterwarnings("ignore:nperseg")
@pytest.mark.parametrize("options", SPECTRA, ids=range(len(SPECTRA)))
def test_spectra_equal_those_of_scipy(options):
    for extra in (
        {},
        {"scaling": "spectrum"},
        {"average": "median"},
        {"detrend": "linear"},
        {"detrend": False},
    ):
        with config.enable_x64(True):
            for found, expected in (
                (
                    signal.welch(WAVE, **options, **extra),
                    expected_signal.welch(WAVE, **options, **extra),
                ),
                (
                    signal.csd(WAVE[0], WAVE[1, :90], **options, **extra),
                    expected_signal.csd(WAVE[0], WAVE[1, :90], **options, **extra),
                ),
            ):
                for one, other in zip(found, expected, strict=True):
                    np.testing.assert_allclose(one, other, atol=1e-12)


def test_along_another_axis():
    with config.enable_x64(True):
        found = signal.stft(WAVE.T, nperseg=16, axis=0)[2]
    np.testing.assert_allclose(
        found, expected_signal.stft(WAVE.T, nperseg=16, axis=0)[2], atol=1e-12
    )


@pytest.mark.parametrize("options", [{"nperseg": 16}, {"nperseg": 15, "noverlap": 10}])
def test_inverse_transforms_restore_the_signal(options):
    with config.enable_x64(True):
        transforms = signal.stft(WAVE, fs=2.0, **options)[2]
        found = signal.istft(transforms, fs=2.0, **options)
    expected = expected_signal.istft(np.asarray(transforms), fs=2.0, **options)[1]
    np.testing.assert_allclose(found[1], expected, atol=1e-12)
    np.testing.assert_allclose(found[0], np.arange(expected.shape[-1]) / 2.0)
    np.testing.assert_allclose(found[1][:, :100], WAVE, atol=1e-12)


def test_compiled_spectra_equal_those_of_scipy():
    function = jit(lambda x, fs: signal.welch(x, fs, nperseg=16)[1])
    with config.enable_x64(True):
        found = function(WAVE, 2.0)
    np.testing.assert_allclose(found, expected_signal.welch(WAVE, 2.0, nperseg=16)[1])


def test_invalid_spectra_raise():
    with pytest.raises(ValueError, match="Invalid window name"):
        signal.stft(WAVE, nperseg=16, window="unknown")
    with pytest.raises(ValueError, match="noverlap must be less"):
        signal.stft(WAVE, nperseg=16, noverlap=16)
    with pytest.raises(ValueError, match="nfft must be greater"):
        signal.stft(WAVE, nperseg=16, nfft=8)
    with pytest.raises(ValueError, match="Unknown boundary option"):
        signal.stft(WAVE, nperseg=16, boundary="wrap")
    with pytest.raises(ValueError, match="Unknown scaling"):
        signal.welch(WAVE, nperseg=16, scaling="power")
    with pytest.raises(ValueError, match="average must be"):
        signal.csd(WAVE, None, nperseg=16, average="mode")
    with pytest.raises(ValueError, match="different from length of window"):
        signal.welch(WAVE, nperseg=15, window=np.ones(16))
    with pytest.raises(ValueError, match="at least 2d"):
        signal.istft(WAVE[0])
    with pytest.raises(ValueError, match="Trend type"):
        signal.detrend(WAVE, type="cubic")
    with pytest.raises(ValueError, match="Breakpoints"):
        signal.detrend(WAVE, bp=[200])
    with pytest.raises(NotImplementedError, match="overwrite_data"):
        signal.detrend(WAVE, overwrite_data=True)


NAMED_WINDOWS = (
    *("barthann", "bartlett", "blackman", "blackmanharris", "bohman", "boxcar", "cosine"),
    *("flattop", "hamming", "hann", "lanczos", "nuttall", "parzen", "triang"),
    *("exponential", ("exponential", None, 2.0), ("exponential", 3.0, 2.0)),
    *("taylor", ("taylor", 3, 35), ("taylor", 4, 30, False), "tukey", ("tukey", 0.0), "halfcosine"),
    *(("chebwin", 60.0), ("chebwin", 110.0), ("dpss", 0.4), ("dpss", 2.5), ("gaussian", 3.0)),
    *(("general_cosine", [0.5, 0.3, 0.2]), ("general_gaussian", 1.5, 3.0), ("kaiser", 4.0)),
    *(("general_hamming", 0.6), ("kaiser_bessel_derived_symmetric", 5.0), "hann_symmetric"),
)


@pytest.mark.parametrize("window", NAMED_WINDOWS, ids=str)
def test_windows_equal_scipy(window):
    for size in (1, 2, 6, 7, 8, 33):
        try:
            expected = expected_signal.get_window(window, size)
        except ValueError:
            continue
        np.testing.assert_allclose(window_of(window, size), expected, rtol=1e-9, atol=1e-12)


def test_windows_with_wrong_parameters():
    with pytest.raises(ValueError, match="'chebwin' must have parameters"):
        window_of("chebwin", 8)
    with pytest.raises(ValueError, match="'hann' does not allow parameters"):
        window_of(("hann", 1), 8)
    with pytest.raises(ValueError, match="NW must be positive and less than M/2"):
        window_of(("dpss", 4.0), 8)
    with pytest.raises(ValueError, match="only defined for symmetric shapes"):
        window_of(("kaiser_bessel_derived", 4.0), 8)
    with pytest.raises(ValueError, match="only defined for even number of points"):
        window_of(("kaiser_bessel_derived_symmetric", 4.0), 7)


def test_cross_spectrum_of_array_with_itself_is_complex():
    assert np.iscomplexobj(signal.csd(WAVE, WAVE, nperseg=16)[1])
    assert not np.iscomplexobj(signal.csd(WAVE, None, nperseg=16)[1])


def test_frequencies_and_times_are_arrays():
    x = np.ones(32, np.float32)
    assert all(isinstance(each, Array) for each in signal.stft(x, nperseg=8))
    assert all(isinstance(each, Array) for each in signal.welch(x, nperseg=8))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: signal.fftconvolve(np.ones(3), np.ones((2, 2))), "have the same dimensionality"),
        (lambda: signal.csd(WAVE, WAVE, average="mode"), 'must be "median" or "mean", got mode'),
    ],
)
def test_unsuitable_arguments_raise(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_windows_may_be_traced():
    x = np.sin(np.arange(32.0)).astype(np.float32)
    window = (np.hanning(8) + 0.1).astype(np.float32)

    def spectra(window):
        _, _, transforms = signal.stft(x, window=window, nperseg=8)
        _, restored = signal.istft(transforms, window=window)
        return jnp.abs(transforms), restored, signal.welch(x, window=window)[1]

    for found, expected in zip(jit(spectra)(window), spectra(window), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)
    # Transforms do not change with the size of the window, since its sum divides them.
    gradient = grad(lambda window: (spectra(window)[0] ** 2).sum())(window)
    np.testing.assert_allclose(gradient @ window, 0.0, atol=1e-5)
    assert np.abs(gradient).max() > 0.1


def test_precision_of_half_precision_axes():
    x = np.ones(16, np.float16)
    frequencies, times, _ = signal.stft(x, nperseg=8, return_onesided=False)
    assert frequencies.dtype == times.dtype == np.float32
