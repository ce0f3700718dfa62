# SPDX-License-Identifier: Apache-2.0
"""Lowering of kernels to Triton, for NVIDIA's GPUs."""

from ...mlir import control_flow  # noqa: F401 - it fills the table
from . import hints, mathematics, memory, reductions, shaping  # noqa: F401 - they fill the table
