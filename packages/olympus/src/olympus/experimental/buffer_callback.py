# SPDX-License-Identifier: Apache-2.0
"""Callbacks that read and write the buffers of devices in place."""

from olympus_xla.foreign.buffer_callbacks import (
    Buffer,
    ExecutionContext,
    ExecutionStage,
    buffer_callback,
)

from .._faces import present as _present

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback"]

_present(__name__)
