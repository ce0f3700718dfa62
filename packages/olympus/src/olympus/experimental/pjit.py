# SPDX-License-Identifier: Apache-2.0
"""`pjit`, the former name of `jit` for programs on several devices."""

from __future__ import annotations

import importlib
from typing import Any

from olympus_ir.diagnostics.user_warnings import warn_user

from .._faces import present as _present


def __getattr__(name: str) -> Any:
    if name != "pjit":
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: OLYMPUS does not have it"
        )
    warn_user(
        f"{__name__}.pjit has been deprecated. Please use `olympus.jit` instead.",
        DeprecationWarning,
    )
    return importlib.import_module("olympus_xla.calls.pjit").pjit


_present(__name__)
