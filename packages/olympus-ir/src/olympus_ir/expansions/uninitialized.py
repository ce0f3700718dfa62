# SPDX-License-Identifier: Apache-2.0
"""`empty2_p`: a scalar of unspecified value in a given memory space."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..programs.expansion import expansion_rules
from ..programs.primitives import Primitive
from ..types import dtypes
from ..types.avals import ShapedArray
from ..types.memory_spaces import MemorySpace

__all__ = ["empty2_p"]

empty2_p = Primitive("empty2")


@empty2_p.def_abstract_eval
def _empty_type(*, dtype: Any, memory_space: MemorySpace) -> ShapedArray:
    if not isinstance(memory_space, MemorySpace):
        raise TypeError(f"memory_space must be an olympus.memory.Space, got {memory_space!r}")
    # None stands for the device's default memory.
    kept = None if memory_space is MemorySpace.Device else memory_space
    return ShapedArray((), dtypes.canonicalize_dtype(dtype), memory_space=kept)


def _empty(*, dtype: Any, memory_space: MemorySpace) -> Any:
    value = lax.full((), 0, dtype)
    if memory_space is MemorySpace.Device:
        return value
    return lax.device_put(value, memory_space)


expansion_rules.define(empty2_p, _empty)
