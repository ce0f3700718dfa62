# SPDX-License-Identifier: Apache-2.0
"""Lowering of kernels to Triton, for NVIDIA's GPUs."""

from ...mlir import control_flow, reshaping  # noqa: F401 - they fill the tables
from . import hints, mathematics, memory, reductions, shaping  # noqa: F401 - they fill the table
