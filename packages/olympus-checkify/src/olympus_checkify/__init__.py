# SPDX-License-Identifier: Apache-2.0
"""Checks in functions that are compiled, mapped and differentiated."""

from __future__ import annotations

from olympus_ir.diagnostics.source_info import register_library_folder

from .__about__ import __version__
from .checks import check, check_error, check_p, debug_check
from .errors import (
    CheckError,
    DivisionByZeroError,
    Error,
    ErrorCategory,
    FailedCheckError,
    NaNError,
    OlympusRuntimeError,
    OOBError,
    init_error,
)
from .transform import (
    all_checks,
    automatic_checks,
    checkify,
    checkify_olympuspr,
    div_checks,
    float_checks,
    index_checks,
    nan_checks,
    user_checks,
)

__all__ = [
    "CheckError",
    "DivisionByZeroError",
    "Error",
    "ErrorCategory",
    "FailedCheckError",
    "NaNError",
    "OOBError",
    "OlympusRuntimeError",
    "__version__",
    "all_checks",
    "automatic_checks",
    "check",
    "check_error",
    "check_p",
    "checkify",
    "checkify_olympuspr",
    "debug_check",
    "div_checks",
    "float_checks",
    "index_checks",
    "init_error",
    "nan_checks",
    "user_checks",
]

register_library_folder(__path__[0])
