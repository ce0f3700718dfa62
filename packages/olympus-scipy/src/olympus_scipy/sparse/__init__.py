# SPDX-License-Identifier: Apache-2.0
"""Iterative solvers for linear operators that are given as functions: `linalg`."""

from __future__ import annotations

import importlib
from types import ModuleType


def __getattr__(name: str) -> ModuleType:
    if name == "linalg":
        return importlib.import_module(f"{__name__}.linalg")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
