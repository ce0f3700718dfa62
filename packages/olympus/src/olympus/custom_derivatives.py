# SPDX-License-Identifier: Apache-2.0
"""Derivative rules for user's functions."""

from olympus_autodiff import (
    SymbolicZero,
    closure_convert,
    custom_gradient,
    custom_jvp,
    custom_vjp,
)
from olympus_ir.lax import custom_jvp_call_p, custom_vjp_call_p

__all__ = [
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
]
