# SPDX-License-Identifier: Apache-2.0
"""Choice between XLA's operations and the lowerings that this folder defines for CPUs."""

from __future__ import annotations

import os
from collections.abc import Sequence

from ..context import LoweringContext


def is_for_this_cpu(context: LoweringContext) -> bool:
    """Returns whether the CPU lowerings apply.

    They apply to programs that run on one CPU device of this process. Programs for several
    platforms or devices, and exported programs, are lowered to XLA's operations. The flag
    ``olympus_cpu_lowerings`` turns all CPU lowerings off.
    """
    return context.is_for_this_cpu


def is_static(shape: Sequence[object]) -> bool:
    """Returns whether all sizes of a shape are known."""
    # The lowering asks this for most equations. `map` and `issuperset` run in C, whereas `all` of a
    # generator would run Python code for each size.
    return _INT.issuperset(map(type, shape))


_INT = frozenset((int,))


def threads() -> int:
    """Returns the number of threads that XLA uses for computations."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
