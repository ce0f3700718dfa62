# SPDX-License-Identifier: Apache-2.0
"""Lowering of kernels to Mosaic, for TPUs."""

from ...mlir import control_flow  # noqa: F401 - it fills the table
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
