# SPDX-License-Identifier: Apache-2.0
"""Tilings: arrays whose dimensions are cut into tiles, on one or several levels."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

__all__ = ["Tiling"]


@dataclasses.dataclass(frozen=True)
class Tiling:
    """An order of an array's elements by tiles, on one or several levels.

    The tile of each level has a rank r, and the level splits the last r dimensions. Each of these
    becomes two dimensions: the number of tiles, and the size of a tile. The tile sizes move to the
    end.

    Args:
      tiles: the shape of the tile of each level. The rank must not grow from level to level.

    Raises:
      ValueError: the rank grows from one level to the next.

    Example:
      >>> Tiling(((8, 64), (2, 32))).tile_shape((16, 128))
      (2, 2, 4, 2, 2, 32)
    """

    tiles: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        ranks = [len(tile) for tile in self.tiles]
        if any(later > earlier for earlier, later in itertools.pairwise(ranks)):
            raise ValueError("Tiles must have a decreasing rank")

    def __str__(self) -> str:
        return f"Tiling({''.join(map(str, self.tiles))})"

    __repr__ = __str__

    def _checked(self, shape: Sequence[int], tile: Sequence[int], whole: Sequence[int]) -> None:
        dims = shape[len(shape) - len(tile) :]
        if len(shape) < len(tile) or any(d % t for d, t in zip(dims, tile, strict=True)):
            raise ValueError(f"Tiling {self.tiles} does not apply to shape {tuple(whole)}")

    def tile_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of an array in tiles.

        Raises:
          ValueError: the tiles do not fill the array.
        """
        whole = shape
        for tile in self.tiles:
            self._checked(shape, tile, whole)
            rest, dims = shape[: len(shape) - len(tile)], shape[len(shape) - len(tile) :]
            counts = tuple(d // t for d, t in zip(dims, tile, strict=True))
            shape = (*rest, *counts, *tile)
        return tuple(shape)

    def untile_shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the shape of an array from its shape in tiles.

        Raises:
          ValueError: no array has this shape in tiles.
        """
        whole = shape
        for tile in reversed(self.tiles):
            rank = len(tile)
            if len(shape) < 2 * rank or tuple(shape[-rank:]) != tuple(tile):
                raise ValueError(f"{tuple(whole)} is not the shape of tiles {self.tiles}")
            counts = shape[-2 * rank : -rank]
            dims = tuple(c * t for c, t in zip(counts, tile, strict=True))
            shape = (*shape[: -2 * rank], *dims)
        return tuple(shape)

    def tile_strides(self, strides: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the strides of an array in tiles."""
        for tile in self.tiles:
            rest, inner = strides[: len(strides) - len(tile)], strides[len(strides) - len(tile) :]
            outer = tuple(s * t for s, t in zip(inner, tile, strict=True))
            strides = (*rest, *outer, *inner)
        return tuple(strides)

    def tile_indices(self, indices: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the indices of an element in tiles."""
        for tile in self.tiles:
            rest, own = indices[: len(indices) - len(tile)], indices[len(indices) - len(tile) :]
            pairs = [divmod(i, t) for i, t in zip(own, tile, strict=True)]
            indices = (*rest, *(outer for outer, _ in pairs), *(inner for _, inner in pairs))
        return tuple(indices)

    def untile_indices(self, indices: tuple[int, ...]) -> tuple[int, ...]:
        """Returns the indices of an element in the array from its indices in tiles."""
        for tile in reversed(self.tiles):
            rank = len(tile)
            outer, inner = indices[-2 * rank : -rank], indices[-rank:]
            own = tuple(o * t + i for o, t, i in zip(outer, tile, inner, strict=True))
            indices = (*indices[: -2 * rank], *own)
        return tuple(indices)

    def tile_nested_shape_strides(
        self, shape: tuple[tuple[int, ...], ...], strides: tuple[tuple[int, ...], ...]
    ) -> tuple[tuple[tuple[int, ...], ...], tuple[tuple[int, ...], ...]]:
        """Returns the nested shape and strides of an array in tiles.

        A nested dimension is a tuple, since it may consist of several dimensions in memory.
        """
        for tile in self.tiles:
            rank = len(tile)
            sizes, steps = list(shape[: len(shape) - rank]), list(strides[: len(shape) - rank])
            outer = [
                _cut(size, step, length)
                for size, step, length in zip(
                    shape[len(shape) - rank :], strides[len(shape) - rank :], tile, strict=True
                )
            ]
            for part in (0, 1):
                for pieces in outer:
                    sizes.append(tuple(size for size, _ in pieces[part]))
                    steps.append(tuple(step for _, step in pieces[part]))
            shape, strides = tuple(sizes), tuple(steps)
        return shape, strides

    def tile_dimension(self, dim: int) -> tuple[bool, ...]:
        """Returns for each dimension in tiles whether it comes from ``dim`` of the array."""
        if not 0 <= dim < len(self.tiles[0]):
            raise ValueError(
                f"dimension {dim} is not among the {len(self.tiles[0])} dimensions of the tiles"
            )
        parts = [position == dim for position in range(len(self.tiles[0]))]
        for tile in self.tiles:
            own = parts[len(parts) - len(tile) :]
            parts = [*parts[: len(parts) - len(tile)], *own, *own]
        return tuple(parts)

    def remove_dimension(self, dim: int) -> Tiling:
        """Returns the tiling for the array without one of its dimensions."""
        rank = len(self.tiles[0])
        if not 0 <= dim < rank:
            raise ValueError(f"dimension {dim} is not among the {rank} dimensions of the tiles")
        from_end = dim - rank
        tiles = []
        for tile in self.tiles:
            position = len(tile) + from_end
            kept = tile if position < 0 else (*tile[:position], *tile[position + 1 :])
            tiles.append(tuple(kept))
        return Tiling(tuple(tiles))

    def canonicalize(self) -> Tiling:
        """Returns the tiling without redundant levels and dimensions."""
        if len(self.tiles) <= 1:
            return self
        tiles = [self.tiles[0]]
        for tile in self.tiles[1:]:
            previous = tiles[-1]
            own = previous[len(previous) - len(tile) :]
            # A leading tile dimension of full size or of size 1 splits nothing.
            start = 0
            while (
                start < len(tile)
                and tile[start] in (own[start], 1)
                and _are_redundant(tile, own, start)
            ):
                start += 1
            if start < len(tile):
                tiles.append(tile[start:])
        return Tiling(tuple(tiles))


def _are_redundant(tile: Sequence[int], own: Sequence[int], position: int) -> bool:
    """Returns whether a tile's dimension and all earlier dimensions are redundant."""
    return all(
        t == o or (t == 1 and all(a == b for a, b in zip(tile[p + 1 :], own[p + 1 :], strict=True)))
        for p, (t, o) in enumerate(zip(tile[: position + 1], own[: position + 1], strict=True))
    )


def _cut(sizes: Sequence[int], steps: Sequence[int], length: int) -> tuple[list, list]:
    """Splits a dimension, which consists of pieces in memory, into tiles of a given length.

    Returns the pieces that count the tiles and the pieces within a tile, as pairs of size and step.
    """
    inner: list[tuple[int, int]] = []
    outer: list[tuple[int, int]] = []
    left = length
    for size, step in zip(reversed(sizes), reversed(steps), strict=True):
        if left == 1:
            outer.insert(0, (size, step))
        elif size <= left:
            if left % size:
                raise ValueError(f"a tile of {length} does not fit pieces {tuple(sizes)}")
            inner.insert(0, (size, step))
            left //= size
        else:
            if size % left:
                raise ValueError(f"a tile of {length} does not fit pieces {tuple(sizes)}")
            inner.insert(0, (left, step))
            outer.insert(0, (size // left, step * left))
            left = 1
    if left != 1:
        raise ValueError(f"a tile of {length} is larger than {math.prod(sizes)}")
    return outer or [(1, 1)], inner or [(1, 1)]
