# SPDX-License-Identifier: Apache-2.0
"""Parts whose interfaces may still change."""

from olympus_ir.config import enable_x64
from olympus_ir.lax.callbacks import io_callback

__all__ = ["enable_x64", "io_callback"]
