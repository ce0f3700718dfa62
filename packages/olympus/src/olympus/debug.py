# SPDX-License-Identifier: Apache-2.0
"""Looking into compiled and transformed functions while they run."""

from olympus_ir.effects import DebugEffect, OrderedDebugEffect
from olympus_ir.lax.callbacks import debug_callback as callback
from olympus_ir.lax.callbacks import debug_print as print

__all__ = ["DebugEffect", "OrderedDebugEffect", "callback", "print"]
