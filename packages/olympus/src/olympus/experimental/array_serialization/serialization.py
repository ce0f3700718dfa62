# SPDX-License-Identifier: Apache-2.0
"""Writes arrays of many devices and processes to files while the program goes on."""

from olympus_export.array_serialization.manager import (
    AsyncManager,
    BarrierTimeoutError,
    GlobalAsyncCheckpointManager,
    GlobalAsyncCheckpointManagerBase,
    get_tensorstore_spec,
    is_remote_storage,
)

from ..._faces import present as _present

__all__ = [
    "AsyncManager",
    "BarrierTimeoutError",
    "GlobalAsyncCheckpointManager",
    "GlobalAsyncCheckpointManagerBase",
    "get_tensorstore_spec",
    "is_remote_storage",
]

_present(__name__)
