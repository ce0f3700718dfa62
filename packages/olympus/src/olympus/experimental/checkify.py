# SPDX-License-Identifier: Apache-2.0
"""Checks in functions that are compiled, mapped and differentiated."""

from olympus_checkify import (
    DivisionByZeroError,
    Error,
    ErrorCategory,
    FailedCheckError,
    NaNError,
    OlympusRuntimeError,
    OOBError,
    all_checks,
    automatic_checks,
    check,
    check_error,
    check_p,
    checkify,
    checkify_olympuspr,
    debug_check,
    div_checks,
    float_checks,
    index_checks,
    init_error,
    nan_checks,
    user_checks,
)

from .. import _lazy

__all__ = [
    "DivisionByZeroError",
    "Error",
    "ErrorCategory",
    "FailedCheckError",
    "NaNError",
    "OOBError",
    "OlympusRuntimeError",
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

# These functions also accept names as JAX spells them.
__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})
