# SPDX-License-Identifier: Apache-2.0
"""Functions that copy arrays by compiled programs, set by a higher package.

A transfer that changes the shards of an array, or its layout, runs a compiled program. This folder
may not import the compiler, so `olympus_xla.evaluator` sets the attributes of `compiled_copies` to
functions of `calls.copies`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["CompiledCopies", "compiled_copies"]


class CompiledCopies:
    """Functions that copy arrays by compiled programs.

    Attributes:
      with_sharding: takes an array or host value and a sharding, and returns an array with this
        sharding.
      between_devices: takes an array and a sharding over any devices of this process; returns an
        array with this sharding. The copy does not pass through host memory.
      with_layout: takes an array and a `Layout`; returns an array with this layout on the same
        devices.
    """

    __slots__ = ("between_devices", "with_layout", "with_sharding")

    between_devices: Callable[[Any, Any], Any]
    with_sharding: Callable[[Any, Any], Any]
    with_layout: Callable[[Any, Any], Any]


compiled_copies = CompiledCopies()
