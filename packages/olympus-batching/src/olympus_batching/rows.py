# SPDX-License-Identifier: Apache-2.0
"""Gathering of some examples of a batch, and scattering of examples back into the batch."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_ir.lax.indexing.gathering import GatherDimensionNumbers, GatherScatterMode
from olympus_ir.lax.indexing.scattering import ScatterDimensionNumbers

__all__ = ["rows", "with_rows"]


def rows(x: Any, positions: Any) -> Any:
    """Returns the rows of ``x`` at ``positions``. Positions beyond the end select the last row."""
    shape = x.shape
    numbers = GatherDimensionNumbers(tuple(range(1, len(shape))), (0,), (0,))
    indices = lax.reshape(positions, (*positions.shape, 1))
    return lax.gather(x, indices, numbers, (1, *shape[1:]), mode=GatherScatterMode.CLIP)


def with_rows(x: Any, positions: Any, new: Any) -> Any:
    """Returns ``x`` with new rows at ``positions``; positions beyond the last row are ignored."""
    numbers = ScatterDimensionNumbers(tuple(range(1, len(x.shape))), (0,), (0,))
    indices = lax.reshape(positions, (*positions.shape, 1))
    return lax.scatter(x, indices, new, numbers, mode=GatherScatterMode.FILL_OR_DROP)
