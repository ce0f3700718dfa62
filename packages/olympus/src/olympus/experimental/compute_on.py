# SPDX-License-Identifier: Apache-2.0
"""Choice of the part of the machine that computes."""

from olympus_ir.lax.annotating import compute_on, compute_on2

__all__ = ["compute_on", "compute_on2"]
