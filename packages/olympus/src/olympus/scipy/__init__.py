# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: ``olympus.scipy.linalg`` and its siblings, loaded when first used."""

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
