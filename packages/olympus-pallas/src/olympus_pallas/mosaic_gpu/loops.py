# SPDX-License-Identifier: Apache-2.0
"""Loops over grids, orders of blocks, and sizes of swizzles."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.tracing import current
from olympus_ir.types.annotations import PyTree

from ..memory.annotations import IntLike
from ..operations.control import unraveled

__all__ = ["NDLoopInfo", "find_swizzle", "nd_loop", "planar_snake"]


@dataclasses.dataclass(frozen=True)
class NDLoopInfo:
    """Position in a loop over a grid.

    Args:
      index: the index in the grid.
      local_index: the number of steps that this core has done.
      num_local_steps: the number of steps that this core does in total; None if unknown.
    """

    index: tuple[Any, ...]
    local_index: IntLike
    num_local_steps: IntLike | None


def nd_loop(
    grid: Sequence[int],
    *,
    collective_axes: Hashable | Sequence[Hashable],
    tiling: Sequence[int] | None = None,
    init_carry: PyTree = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Runs the decorated function for each index of a grid that belongs to this core.

    The cores along the axes take turns: the first core takes the first index, the second core the
    second index, and so on.

    Args:
      grid: the sizes of the grid.
      collective_axes: the axes of cores that share the grid.
      tiling: the sizes of tiles; the loop visits one tile after the other.
      init_carry: initial carry of the loop. If given, the function takes a keyword argument
        ``carry`` and returns the next carry.

    Returns:
      A decorator that runs the loop immediately and returns the last carry. The decorated function
      takes an `NDLoopInfo`.

    Raises:
      ValueError: the tiles do not fill the grid.
    """
    names = collective_axes if isinstance(collective_axes, tuple | list) else (collective_axes,)
    sizes = tuple(grid)
    if tiling is not None and (
        len(tiling) != len(sizes) or any(s % t for s, t in zip(sizes, tiling, strict=True))
    ):
        raise ValueError(f"tiles of {tuple(tiling)} do not fill a grid of {sizes}")
    steps = math.prod(sizes)

    def place_of(number: Any) -> tuple[Any, ...]:
        if tiling is None:
            return unraveled(number, sizes)
        counts = tuple(s // t for s, t in zip(sizes, tiling, strict=True))
        place = unraveled(number, (*counts, *tiling))
        outer, inner = place[: len(sizes)], place[len(sizes) :]
        return tuple(o * t + i for o, t, i in zip(outer, tiling, inner, strict=True))

    def run(body: Callable[..., Any]) -> Any:
        thread_index, total = lax.axis_index(tuple(names)), 1
        for name in names:
            total *= current.axes.size(name)
        if steps % total == 0:
            count: Any = steps // total
        else:
            more = lax.convert_element_type(lax.lt(thread_index, np.int32(steps % total)), np.int32)
            count = lax.add(np.int32(steps // total), more)

        def step(number: Any, carry: Any) -> Any:
            place = place_of(lax.add(lax.mul(number, np.int32(total)), thread_index))
            info = NDLoopInfo(place, number, count)
            if init_carry is None:
                body(info)
                return None
            return body(info, carry=carry)

        return lax.fori_loop(np.int32(0), count, step, init_carry)

    return run


def planar_snake(
    lin_idx: IntLike, shape: tuple[Any, Any], minor_dim: int, tile_width: int
) -> tuple[Any, Any]:
    """Returns the indices in a plane at one step of a snake order; successive steps are close.

    The plane is cut into strips along one dimension. The order goes through each strip crosswise,
    and through every other strip backwards.

    Args:
      lin_idx: the index of the step.
      shape: the sizes of the plane.
      minor_dim: the dimension that is cut.
      tile_width: the width of a strip.

    Example:
      >>> [tuple(map(int, planar_snake(np.int32(i), (2, 4), 1, 2))) for i in range(8)]
      [(0, 0), (0, 1), (1, 0), (1, 1), (1, 2), (1, 3), (0, 2), (0, 3)]
    """
    major, minor = shape[1 - minor_dim], shape[minor_dim]
    width = np.int32(tile_width)
    strip_size = _int32(major * tile_width)
    strip, inside = lax.div(_int32(lin_idx), strip_size), lax.rem(_int32(lin_idx), strip_size)
    # The last strip may be narrower.
    rest = lax.max(_int32(minor % tile_width), np.int32(1))
    own_width = lax.select_n(lax.eq(strip, _int32(minor // tile_width)), width, rest)
    along, across = lax.div(inside, own_width), lax.rem(inside, own_width)
    is_backwards = lax.eq(lax.rem(strip, np.int32(2)), np.int32(1))
    back = lax.sub(_int32(major - 1), along)
    along = lax.select_n(is_backwards, along, back)
    place = (along, lax.add(lax.mul(strip, width), across))
    return place if minor_dim == 1 else (place[1], place[0])


def _int32(value: Any) -> Any:
    return np.int32(value) if isinstance(value, int) else lax.convert_element_type(value, np.int32)


def find_swizzle(minor_dim_bits: int, what: str = "") -> int:
    """Returns the widest swizzle that fits rows of memory.

    Args:
      minor_dim_bits: the size of a row, in bits.
      what: name of the operand, for messages.

    Returns:
      The width of the swizzle in bytes.

    Raises:
      ValueError: no swizzle fits.

    Example:
      >>> find_swizzle(512)
      64
    """
    for swizzle in (128, 64, 32, 16):
        if minor_dim_bits % (swizzle * 8) == 0:
            return swizzle
    raise ValueError(
        f"No valid out swizzle{f' for {what}' if what else ''}: minor dimension has "
        f"{minor_dim_bits} bits, which is not a multiple of 128 (16 bytes)"
    )
