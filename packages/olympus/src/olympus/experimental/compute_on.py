# SPDX-License-Identifier: Apache-2.0
"""Offloading: selects the hardware, such as the host, that runs a part of a program."""

from olympus_ir.lax.annotations.functions import compute_on, compute_on2

from .._faces import present as _present

__all__ = ["compute_on", "compute_on2"]

_present(__name__)
