# SPDX-License-Identifier: Apache-2.0
"""Control dependencies, which order operations that do not depend on each other."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from olympus_ir.trees import pytrees

from .ffi import ffi_call

__all__ = ["control_dep", "schedule"]


def control_dep(src: Any, dst: Any) -> None:
    """Schedules the operation that made ``src`` before the operation that made ``dst``.

    TPU compilers support such dependencies, and remove the call that declares them.

    Args:
      src: an array of the function that is traced.
      dst: another array of the same function.
    """
    (first,), (second,) = pytrees.tree_leaves(src), pytrees.tree_leaves(dst)
    ffi_call("control_dep", (), has_side_effect=True)(first, second)


def schedule(ops: Sequence[Any]) -> None:
    """Schedules the operations that made ``ops``, in the order of ``ops``.

    Args:
      ops: arrays of the function that is traced: ``schedule([a, b, c])`` is ``control_dep(a, b)``
        and ``control_dep(b, c)``.
    """
    for first, second in itertools.pairwise(ops):
        control_dep(first, second)
