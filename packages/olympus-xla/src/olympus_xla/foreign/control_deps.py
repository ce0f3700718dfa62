# SPDX-License-Identifier: Apache-2.0
"""The order in which a compiler shall schedule operations that do not depend on one another."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from olympus_ir.trees import pytrees

from .ffi import ffi_call

__all__ = ["control_dep", "schedule"]


def control_dep(src: Any, dst: Any) -> None:
    """Says that what made ``src`` runs before what made ``dst``.

    Compilers that know of such dependencies, those of TPUs, remove the call that says so.

    Args:
      src: an array of the function that is traced.
      dst: another one.
    """
    (first,), (second,) = pytrees.tree_leaves(src), pytrees.tree_leaves(dst)
    ffi_call("control_dep", (), has_side_effect=True)(first, second)


def schedule(ops: Sequence[Any]) -> None:
    """Says that what made the values runs in their order.

    Args:
      ops: arrays of the function that is traced: ``schedule([a, b, c])`` is ``control_dep(a, b)``
        and ``control_dep(b, c)``.
    """
    for first, second in itertools.pairwise(ops):
        control_dep(first, second)
