# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface. Modules such as ``olympus.scipy.linalg`` are loaded on first use."""

from .. import _lazy

_SUBMODULES = (
    "cluster",
    "fft",
    "integrate",
    "interpolate",
    "linalg",
    "ndimage",
    "optimize",
    "signal",
    "sparse",
    "spatial",
    "special",
    "stats",
)

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {}, _SUBMODULES)
