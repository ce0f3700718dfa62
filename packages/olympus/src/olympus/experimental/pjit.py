# SPDX-License-Identifier: Apache-2.0
"""`pjit`, the former name of `jit` for programs on several devices."""

from __future__ import annotations

import importlib
import warnings
from typing import Any


def __getattr__(name: str) -> Any:
    if name != "pjit":
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: OLYMPUS does not have it"
        )
    warnings.warn(
        f"{__name__}.pjit has been deprecated. Please use `olympus.jit` instead.",
        DeprecationWarning,
        stacklevel=2,
    )
    return importlib.import_module("olympus_xla.calls.pjit").pjit
