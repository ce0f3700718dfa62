# SPDX-License-Identifier: Apache-2.0
"""Window functions by name, in their periodic form, which spectra need."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

__all__ = ["window_of"]


def _cosines(*coefficients: float) -> Callable[[np.ndarray], np.ndarray]:
    """Returns the window that is a sum of cosines with alternating signs on the unit interval."""

    def window(place: np.ndarray) -> np.ndarray:
        terms = (
            (-1) ** k * coefficient * np.cos(2 * np.pi * k * place)
            for k, coefficient in enumerate(coefficients)
        )
        return sum(terms, np.zeros_like(place))

    return window


def _bohman(place: np.ndarray) -> np.ndarray:
    size = np.abs(2 * place - 1)
    value = (1 - size) * np.cos(np.pi * size) + np.sin(np.pi * size) / np.pi
    return np.where(size < 1, value, 0.0)


_BY_PLACE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "boxcar": np.ones_like,
    "bartlett": lambda place: 1 - np.abs(2 * place - 1),
    "hann": _cosines(0.5, 0.5),
    "hamming": _cosines(0.54, 0.46),
    "blackman": _cosines(0.42, 0.5, 0.08),
    "nuttall": _cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411),
    "blackmanharris": _cosines(0.35875, 0.48829, 0.14128, 0.01168),
    "flattop": _cosines(0.21557895, 0.41663158, 0.277263158, 0.083578947, 0.006947368),
    "bohman": _bohman,
}
_ALIASES = {
    "hanning": "hann",
    "box": "boxcar",
    "rect": "boxcar",
    "rectangular": "boxcar",
    "ones": "boxcar",
}


def _kaiser(place: np.ndarray, beta: float) -> np.ndarray:
    return np.i0(beta * np.sqrt(np.maximum(1 - (2 * place - 1) ** 2, 0))) / np.i0(beta)


def _tukey(place: np.ndarray, alpha: float = 0.5) -> np.ndarray:
    if alpha <= 0:
        return np.ones_like(place)
    edge = np.minimum(place, 1 - place) * (2 / alpha)
    return np.where(edge < 1, 0.5 * (1 - np.cos(np.pi * edge)), 1.0)


_BY_PARAMETERS: dict[str, Callable[..., np.ndarray]] = {"kaiser": _kaiser, "tukey": _tukey}


def window_of(window: Any, size: int) -> np.ndarray:
    """Returns the window of a given size.

    Args:
      window: the name of a window, a tuple of a name and parameters, or a vector.
      size: the number of samples.

    Returns:
      A vector.

    Raises:
      ValueError: the name is unknown, or an array is not a vector.
    """
    if isinstance(window, str) or (isinstance(window, Sequence) and isinstance(window[0], str)):
        name, *parameters = (window,) if isinstance(window, str) else window
        name = _ALIASES.get(name, name)
        # A symmetric window with one more sample, without its last sample.
        place = np.arange(size) / size
        if name in _BY_PLACE and not parameters:
            return _BY_PLACE[name](place) if size > 1 else np.ones(size)
        if name in _BY_PARAMETERS:
            return _BY_PARAMETERS[name](place, *parameters) if size > 1 else np.ones(size)
        if name == "gaussian" and len(parameters) == 1:
            return np.exp(-0.5 * ((np.arange(size) - size / 2) / parameters[0]) ** 2)
        names = ", ".join([*_BY_PLACE, *_BY_PARAMETERS, "gaussian"])
        raise ValueError(
            f"Invalid window name {name!r} in parameter window={window!r}! The names are {names}."
        )
    values = np.asarray(window)
    if values.ndim != 1:
        raise ValueError(f"window must be 1-D, got the shape {values.shape}")
    return values
