# SPDX-License-Identifier: Apache-2.0
"""Protocols of functions: the type of initializers of weights."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

from olympus_ir.diagnostics.traceback_filtering import boundary_class
from olympus_ir.types.annotations import ShardingLike
from olympus_ir.types.arrays import Array

__all__ = ["Initializer"]


@boundary_class
@runtime_checkable
class Initializer(Protocol):
    """Protocol of initializers: functions from a key, a shape and a dtype to an array."""

    def __call__(
        self, key: Any, shape: Any, dtype: Any = None, out_sharding: ShardingLike = None
    ) -> Array: ...
