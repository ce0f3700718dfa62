# SPDX-License-Identifier: Apache-2.0
"""Writes arrays of many devices and processes to files while the program continues."""

from typing import Any

from olympus_export.array_serialization.manager import (
    AsyncManager,
    BarrierTimeoutError,
    GlobalAsyncCheckpointManager,
    GlobalAsyncCheckpointManagerBase,
    get_tensorstore_spec,
    is_remote_storage,
)
from olympus_export.array_serialization.stores import (
    async_deserialize,
    async_serialize,
    run_deserialization,
    run_serialization,
)
from olympus_export.array_serialization.stores import shared_context as _shared_context

from ..._faces import present as _present

__all__ = [
    "TS_CONTEXT",  # noqa: F822 - looked up below
    "AsyncManager",
    "BarrierTimeoutError",
    "GlobalAsyncCheckpointManager",
    "GlobalAsyncCheckpointManagerBase",
    "async_deserialize",
    "async_serialize",
    "get_tensorstore_spec",
    "is_remote_storage",
    "run_deserialization",
    "run_serialization",
]


def __getattr__(name: str) -> Any:
    # The context is made on first use, because tensorstore may not be installed.
    if name == "TS_CONTEXT":
        return _shared_context()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_present(__name__)
