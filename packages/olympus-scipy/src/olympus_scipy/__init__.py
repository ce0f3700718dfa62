# SPDX-License-Identifier: Apache-2.0
"""The SciPy interface: linear algebra, special functions, statistics, transforms, solvers."""

from __future__ import annotations

import importlib
from types import ModuleType

from olympus_ir.diagnostics.source_info import register_library_folder

from .__about__ import __version__ as __version__

# Submodules are loaded on first use, so that a program imports only those that it needs.
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


def __getattr__(name: str) -> ModuleType:
    if name in _SUBMODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *_SUBMODULES})


register_library_folder(__path__[0])
