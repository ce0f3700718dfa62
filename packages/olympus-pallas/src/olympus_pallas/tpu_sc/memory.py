# SPDX-License-Identifier: Apache-2.0
"""Gathers, scatters and atomic additions in the memory of a subcore."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..memory import access
from ..memory.annotations import RefLike

__all__ = [
    "addupdate",
    "addupdate_compressed",
    "addupdate_scatter",
    "load_expanded",
    "load_gather",
    "store_compressed",
    "store_scatter",
]


def load_gather(
    ref: RefLike, indices: Sequence[ArrayLike], *, mask: ArrayLike | None = None
) -> Array:
    """Reads elements at indices.

    Args:
      ref: the reference.
      indices: for each dimension an array of indices; all arrays have the same shape.
      mask: boolean array, true for the elements to read. The other elements of the result are
        uninitialized.

    Returns:
      An array of the indices' shape and of the reference's dtype.
    """
    return access.load(ref.at[tuple(indices)], mask=mask)


def store_scatter(
    ref: RefLike, indices: Sequence[ArrayLike], x: ArrayLike, *, mask: ArrayLike | None = None
) -> None:
    """Writes elements at indices, which must be distinct.

    Args:
      ref: the reference.
      indices: for each dimension an array of indices; all arrays have the same shape.
      x: the values.
      mask: boolean array, true for the elements of ``x`` to write.
    """
    if mask is None:
        ref[tuple(indices)] = x
    else:
        access.store(ref.at[tuple(indices)], x, mask=mask)


def addupdate(ref: RefLike, x: ArrayLike) -> None:
    """Adds to a reference, atomically.

    Args:
      ref: the reference.
      x: the increments, an array of the reference's shape.
    """
    access.atomic_add(ref, (), x)


def addupdate_scatter(
    ref: RefLike, indices: Sequence[ArrayLike], x: ArrayLike, *, mask: ArrayLike | None = None
) -> None:
    """Adds to elements at indices, atomically. Repeated indices add repeatedly.

    Args:
      ref: the reference.
      indices: for each dimension an array of indices; all arrays have the same shape.
      x: the values.
      mask: boolean array, true for the elements of ``x`` to add.
    """
    access.atomic_add(ref, tuple(indices), x, mask=mask)


def _compressed(mask: Any) -> Any:
    """Returns each element's new position after the elements that a mask selects move to the front.

    Both the selected elements and the others keep their order.
    """
    chosen = lax.convert_element_type(mask, np.int32)
    others = lax.sub(np.int32(1), chosen)
    before = lax.sub(lax.cumsum(chosen), np.int32(1))
    after = lax.sub(lax.add(jnp.sum(chosen, dtype=np.int32), lax.cumsum(others)), np.int32(1))
    return lax.select_n(mask, after, before)


def load_expanded(ref: RefLike, *, mask: ArrayLike) -> Array:
    """Reads the first elements in order, and puts them at the positions where a mask is true.

    Args:
      ref: the reference, of one dimension.
      mask: boolean array, true where the elements go.

    Returns:
      An array of the mask's shape, uninitialized where the mask is false.
    """
    return access.load(ref.at[_compressed(mask)], mask=mask)


def store_compressed(ref: RefLike, x: ArrayLike, *, mask: ArrayLike) -> None:
    """Writes the elements that a mask selects to consecutive positions, starting at 0.

    Args:
      ref: the reference, of one dimension.
      x: the values.
      mask: boolean array, true for the elements of ``x`` to write.
    """
    access.store(ref.at[_compressed(mask)], x, mask=mask)


def addupdate_compressed(ref: RefLike, x: ArrayLike, *, mask: ArrayLike) -> None:
    """Adds the elements that a mask selects to consecutive positions, starting at 0.

    Each addition is atomic.

    Args:
      ref: the reference, of one dimension.
      x: the values.
      mask: boolean array, true for the elements of ``x`` to add.
    """
    access.atomic_add(ref, (_compressed(mask),), x, mask=mask)
