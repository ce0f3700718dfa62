# SPDX-License-Identifier: Apache-2.0
"""Inspection of compiled and transformed functions while they run."""

from olympus_ir.lax.callbacks import debug_callback as callback
from olympus_ir.lax.callbacks import debug_log as log
from olympus_ir.lax.callbacks import debug_print as print
from olympus_ir.types.effects import DebugEffect, OrderedDebugEffect

from . import _lazy

__all__ = [
    "DebugEffect",
    "OrderedDebugEffect",
    "breakpoint",
    "callback",
    "inspect_array_sharding",  # noqa: F822
    "log",
    "print",
    "visualize_array_sharding",  # noqa: F822
    "visualize_sharding",  # noqa: F822
]

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {
        **_lazy.names_from(
            "olympus_sharding.annotations.inspection",
            "inspect_array_sharding",
            "visualize_array_sharding",
        ),
        **_lazy.names_from("olympus_ir.debugger", "breakpoint"),
        **_lazy.names_from("olympus_sharding.shardings.visualization", "visualize_sharding"),
    },
)
