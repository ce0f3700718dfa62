# SPDX-License-Identifier: Apache-2.0
"""Computations that the compiler fuses into one operation."""

from olympus_ir.lax.annotations.functions import fused
from olympus_ir.lax.annotations.primitives import fused_call_p as fused_p

from .._faces import present as _present

__all__ = ["fused", "fused_p"]

_present(__name__)
