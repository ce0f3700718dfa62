# SPDX-License-Identifier: Apache-2.0
"""Window functions by name, with the names of ``scipy.signal.get_window``.

Each window is a function of the number of samples that returns a symmetric window. Spectra need the
periodic form, which is a symmetric window of one more sample without its last sample. Definitions
follow F. J. Harris, On the use of windows for harmonic analysis with the discrete Fourier
transform, Proceedings of the IEEE 66 (1978), unless a function names another source.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["window_of"]


def _places(size: int) -> np.ndarray:
    """Returns the positions of samples on the interval from -1 to 1."""
    return np.linspace(-1.0, 1.0, size)


def _offsets(size: int) -> np.ndarray:
    """Returns the signed distances of samples from the middle."""
    return np.arange(size) - (size - 1) / 2


# ---- windows without parameters ------------------------------------------------------------------


def _cosines(*coefficients: float) -> Callable[[int], np.ndarray]:
    """Returns the window that is a sum of cosines with the given coefficients."""
    return lambda size: _general_cosine(size, coefficients)


def _boxcar(size: int) -> np.ndarray:
    return np.ones(size)


def _triang(size: int) -> np.ndarray:
    return 1 - np.abs(_offsets(size)) / ((size + size % 2) / 2)


def _bartlett(size: int) -> np.ndarray:
    return 1 - np.abs(_places(size))


def _parzen(size: int) -> np.ndarray:
    offset = np.abs(_offsets(size))
    distance = offset / (size / 2)
    near = 1 - 6 * distance**2 + 6 * distance**3
    return np.where(offset <= (size - 1) / 4, near, 2 * (1 - distance) ** 3)


def _bohman(size: int) -> np.ndarray:
    distance = np.abs(_places(size))
    value = (1 - distance) * np.cos(np.pi * distance) + np.sin(np.pi * distance) / np.pi
    return np.where(distance < 1, value, 0.0)


def _barthann(size: int) -> np.ndarray:
    distance = np.abs(_places(size)) / 2
    return 0.62 - 0.48 * distance + 0.38 * np.cos(2 * np.pi * distance)


def _cosine(size: int) -> np.ndarray:
    return np.sin(np.pi / size * (np.arange(size) + 0.5))


def _lanczos(size: int) -> np.ndarray:
    return np.sinc(_places(size))


# ---- windows with parameters ---------------------------------------------------------------------


def _general_cosine(size: int, coefficients: Sequence[float]) -> np.ndarray:
    angle = np.pi * _places(size)
    terms = (value * np.cos(k * angle) for k, value in enumerate(coefficients))
    return sum(terms, np.zeros(size))


def _general_hamming(size: int, alpha: float) -> np.ndarray:
    return _general_cosine(size, (alpha, 1 - alpha))


def _kaiser(size: int, beta: float) -> np.ndarray:
    return np.i0(beta * np.sqrt(np.maximum(1 - _places(size) ** 2, 0))) / np.i0(beta)


def _kaiser_bessel_derived(size: int, beta: float) -> np.ndarray:
    """Returns the Kaiser-Bessel derived window, of even size.

    The window is the square root of the cumulative sums of the Kaiser window.
    """
    if size % 2:
        raise ValueError(
            "Kaiser-Bessel Derived windows are only defined for even number of points, "
            f"got {size} points"
        )
    total = np.cumsum(_kaiser(size // 2 + 1, beta))
    half = np.sqrt(total[:-1] / total[-1])
    return np.concatenate([half, half[::-1]])


def _gaussian(size: int, deviation: float) -> np.ndarray:
    return np.exp(-0.5 * (_offsets(size) / deviation) ** 2)


def _general_gaussian(size: int, power: float, deviation: float) -> np.ndarray:
    return np.exp(-0.5 * np.abs(_offsets(size) / deviation) ** (2 * power))


def _exponential(size: int, center: float | None = None, decay: float = 1.0) -> np.ndarray:
    middle = (size - 1) / 2 if center is None else center
    return np.exp(-np.abs(np.arange(size) - middle) / decay)


def _tukey(size: int, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones(size)
    edge = (1 - np.abs(_places(size))) / min(alpha, 1.0)
    return np.where(edge < 1, 0.5 * (1 - np.cos(np.pi * edge)), 1.0)


def _taylor(size: int, nbar: int = 4, sll: float = 30, norm: bool = True) -> np.ndarray:
    """Returns the Taylor window; Carrara et al., Spotlight Synthetic Aperture Radar (1995)."""
    a = np.arccosh(10 ** (sll / 20)) / np.pi
    stretch = nbar**2 / (a**2 + (nbar - 0.5) ** 2)
    orders = np.arange(1, nbar)
    zeros = stretch * (a**2 + (orders - 0.5) ** 2)
    weights = []
    for order in orders:
        others = orders[orders != order]
        top = (-1) ** (order + 1) * np.prod(1 - order**2 / zeros)
        weights.append(top / (2 * np.prod(1 - order**2 / others.astype(float) ** 2)))

    def at(offset: np.ndarray) -> np.ndarray:
        angles = 2 * np.pi * orders[:, None] * offset / size
        return 1 + 2 * np.array(weights) @ np.cos(angles)

    window = at(_offsets(size))
    return window / at(np.zeros(1)) if norm else window


def _chebwin(size: int, attenuation: float) -> np.ndarray:
    """Returns the Dolph-Chebyshev window, by the discrete Fourier transform."""
    order = size - 1
    beta = np.cosh(np.arccosh(10 ** (abs(attenuation) / 20)) / order)
    x = beta * np.cos(np.pi * np.arange(size) / size)
    inside = np.cos(order * np.arccos(np.clip(x, -1, 1)))
    outside = np.cosh(order * np.arccosh(np.maximum(np.abs(x), 1)))
    sign = np.where((x < 0) & (order % 2 == 1), -1.0, 1.0)
    transform = np.where(np.abs(x) <= 1, inside, sign * outside)
    if size % 2:
        half = np.fft.fft(transform).real[: (size + 1) // 2]
        window = np.concatenate([half[:0:-1], half])
    else:
        shifted = transform * np.exp(1j * np.pi / size * np.arange(size))
        half = np.fft.fft(shifted).real[1 : size // 2 + 1]
        window = np.concatenate([half[::-1], half])
    return window / np.max(window)


def _dpss(size: int, bandwidth: float) -> np.ndarray:
    """Returns the first discrete prolate spheroidal sequence; Slepian, Bell Syst. Tech. J. (1978).

    It is the eigenvector of the largest eigenvalue of a tridiagonal matrix. Its maximum is one for
    odd sizes, and approximately one for even sizes.
    """
    positions = np.arange(size, dtype=float)
    diagonal = ((size - 1 - 2 * positions) / 2) ** 2 * np.cos(2 * np.pi * bandwidth / size)
    beside = positions[1:] * (size - positions[1:]) / 2
    matrix = np.diag(diagonal) + np.diag(beside, 1) + np.diag(beside, -1)
    window = np.linalg.eigh(matrix)[1][:, -1]
    window = window * np.sign(np.sum(window)) / np.max(np.abs(window))
    return window if size % 2 else window * (size**2 / (size**2 + bandwidth))


# ---- names ---------------------------------------------------------------------------------------

# The names of each window function. The three tables are for functions without parameters, with
# optional parameters, and with required parameters.
_WITHOUT: dict[Callable[..., np.ndarray], str] = {
    _barthann: "barthann brthan bth",
    _bartlett: "bartlett bart brt",
    _cosines(0.42, 0.5, 0.08): "blackman black blk",
    _cosines(0.35875, 0.48829, 0.14128, 0.01168): "blackmanharris blackharr bkh",
    _bohman: "bohman bman bmn",
    _boxcar: "boxcar box ones rect rectangular",
    _cosine: "cosine halfcosine",
    _cosines(0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368): "flattop flat flt",
    _cosines(0.54, 0.46): "hamming hamm ham",
    _cosines(0.5, 0.5): "hann han",
    _lanczos: "lanczos sinc",
    _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411): "nuttall nutl nut",
    _parzen: "parzen parz par",
    _triang: "triangle triang tri",
}
_OPTIONAL: dict[Callable[..., np.ndarray], str] = {
    _exponential: "exponential poisson",
    _taylor: "taylor taylorwin",
    _tukey: "tukey tuk",
}
_NEEDED: dict[Callable[..., np.ndarray], str] = {
    _chebwin: "chebwin cheb",
    _dpss: "dpss",
    _gaussian: "gaussian gauss gss",
    _general_cosine: "general cosine,general_cosine",
    _general_gaussian: "general gaussian,general_gaussian,general gauss,general_gauss,ggs",
    _general_hamming: "general hamming,general_hamming",
    _kaiser: "kaiser ksr",
    _kaiser_bessel_derived: "kaiser bessel derived,kaiser_bessel_derived,kbd",
}


def _named(table: dict[Callable[..., np.ndarray], str]) -> dict[str, Callable[..., np.ndarray]]:
    return {
        name: function
        for function, names in table.items()
        for name in (names.split(",") if "," in names else names.split())
    }


_BY_NAME = {**_named(_WITHOUT), **_named(_OPTIONAL), **_named(_NEEDED)}


def window_of(window: Any, size: int) -> np.ndarray:
    """Returns the window of a given size.

    Args:
      window: the name of a window, a tuple of a name and parameters, or a vector. A name that ends
        in ``_symmetric`` selects the symmetric form; other names select the periodic form.
      size: the number of samples.

    Returns:
      A vector.

    Raises:
      ValueError: the name is unknown, parameters are missing or not allowed, or an array is not a
        vector.
    """
    if isinstance(window, str) or (isinstance(window, tuple) and isinstance(window[0], str)):
        return _window_by_name(window, size)
    values = np.asarray(window)
    if values.ndim != 1:
        raise ValueError(f"window must be 1-D, got the shape {values.shape}")
    return values


def _window_by_name(window: str | tuple, size: int) -> np.ndarray:
    full_name, *parameters = (window,) if isinstance(window, str) else window
    symmetric = full_name.endswith("_symmetric")
    name = full_name.removesuffix("_symmetric").removesuffix("_periodic")
    function = _BY_NAME.get(name)
    if function is None:
        raise ValueError(
            f"Invalid window name {full_name!r} in parameter window={window!r}! The names are "
            f"{', '.join(_BY_NAME)}."
        )
    if function in _NEEDED and not parameters:
        raise ValueError(f"{full_name!r} must have parameters, but window={window!r}!")
    if function in _WITHOUT and parameters:
        raise ValueError(f"{full_name!r} does not allow parameters, but window={window!r}!")
    if function is _kaiser_bessel_derived and not symmetric:
        raise ValueError(
            "Kaiser-Bessel Derived windows are only defined for symmetric shapes: ask for "
            f"({full_name + '_symmetric'!r}, ...)"
        )
    if size <= 1:
        return np.ones(size)
    if function is _dpss and not 0 < parameters[0] < size / 2:
        raise ValueError(
            f"NW must be positive and less than M/2, got NW={parameters[0]} for M={size} samples"
        )
    return function(size, *parameters) if symmetric else function(size + 1, *parameters)[:-1]
