# SPDX-License-Identifier: Apache-2.0
"""Which part of the machine computes."""

from olympus_ir.lax.annotating import compute_on, compute_on2

__all__ = ["compute_on", "compute_on2"]
