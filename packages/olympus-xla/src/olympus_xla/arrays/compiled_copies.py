# SPDX-License-Identifier: Apache-2.0
"""Slots for copies of arrays that compiled programs make.

A transfer that cuts an array anew, or changes the order of its elements, runs a program. Arrays lie
below the compiler, so `olympus_xla.evaluator` hands in the functions of `calls.copies`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CompiledCopies", "compiled_copies"]


class CompiledCopies:
    """Functions that copy arrays by compiled programs.

    Attributes:
      with_sharding: from an array or host value and a sharding to an array with this sharding.
      between_devices: from an array and a sharding over any devices of this process to an array
        with this sharding, without the memory of the host.
      with_layout: from an array and a `Layout` to an array with this layout on the same devices.
    """

    __slots__ = ("between_devices", "with_layout", "with_sharding")

    between_devices: Callable[[Any, Any], Any]
    with_sharding: Callable[[Any, Any], Any]
    with_layout: Callable[[Any, Any], Any]


compiled_copies = CompiledCopies()
