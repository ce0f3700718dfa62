# SPDX-License-Identifier: Apache-2.0
"""Lowering of kernels to Mosaic, for TPUs."""

from ...mlir import control_flow, reshaping  # noqa: F401 - they fill the tables
from . import (  # noqa: F401 - they fill the table
    gathering,
    hints,
    mathematics,
    memory,
    packing,
    random_keys,
    reductions,
    shaping,
    transfers,
)
