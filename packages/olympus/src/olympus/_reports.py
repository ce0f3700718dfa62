# SPDX-License-Identifier: Apache-2.0
"""`olympus.memory`: a function that reports the memory of a call, and a namespace of memories."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import olympus_insight
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.types.memory_spaces import MemorySpace

if TYPE_CHECKING:
    from olympus_insight.memory_reports import MemoryReport


class _Memory:
    """Reports the memory that a call would need.

    The attribute ``memory.Space`` enumerates the kinds of memory.

    Args:
      fun: a function, compiled or not, or a stage of ``jit(f).lower(...).compile()``.
      *args: the arguments of ``fun``, or `ShapeDtypeStruct` in their place.
      **kwargs: the keyword arguments of the function.

    Returns:
      A `MemoryReport`: ``peak``, and ``top``, the ten largest buffers at the peak.

    Example:
      >>> import numpy as np
      >>> memory(lambda x: x + 1, np.zeros((256, 256), np.float32)).peak
      524288
      >>> memory.Space.Host.name
      'Host'
    """

    #: The kinds of memory that can hold values.
    Space = MemorySpace

    @api_boundary
    def __call__(self, fun: Any, *args: Any, **kwargs: Any) -> MemoryReport:
        return olympus_insight.memory(fun, *args, **kwargs)

    def __repr__(self) -> str:
        return "<olympus.memory>"


memory = _Memory()
