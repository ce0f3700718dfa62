# SPDX-License-Identifier: Apache-2.0
"""Search for partition specs that express shardings chosen by the compiler.

XLA reports a result's sharding as tiles over numbered devices. This module expresses it over the
user's mesh.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from olympus_ir.types.placement import PartitionSpec

from .._jaxlib import HloSharding
from .hlo_shardings import mesh_hlo_sharding

__all__ = ["hlo_from_proto", "spec_of_hlo"]

_specs: dict[Any, PartitionSpec | None] = {}


def spec_of_hlo(hlo: Any, mesh: Any, ndim: int) -> PartitionSpec | None:
    """Returns the spec over a mesh that is equivalent to an `HloSharding`; None if there is none.

    Tries all ways to write each dimension's number of tiles as a product of mesh axes.
    """
    key = (hlo, mesh, ndim)
    if key not in _specs:
        if len(_specs) > 4096:
            _specs.clear()
        _specs[key] = _search_spec(hlo, mesh, ndim)
    return _specs[key]


def _search_spec(hlo: Any, mesh: Any, ndim: int) -> PartitionSpec | None:
    if hlo.is_replicated():
        return PartitionSpec()
    tiles = list(hlo.tile_assignment_dimensions())[:ndim]
    if len(tiles) < ndim:
        return None
    names = [name for name, size in mesh.shape.items() if size > 1]

    def search(position: int, free: list[Any], chosen: list[Any]) -> PartitionSpec | None:
        if position == ndim:
            spec = _spec_of_axes(chosen)
            return spec if mesh_hlo_sharding(mesh, spec, ndim) == hlo else None
        for axes in _factorizations(tiles[position], free, mesh.shape):
            rest = [axis for axis in free if axis not in axes]
            found = search(position + 1, rest, [*chosen, axes])
            if found is not None:
                return found
        return None

    return search(0, names, [])


def _factorizations(
    count: int, free: Sequence[Any], sizes: Mapping[Any, int]
) -> Iterator[tuple[Any, ...]]:
    """Yields all sequences of axes, among the free ones, whose sizes have a given product."""
    if count == 1:
        yield ()
        return
    for length in range(1, len(free) + 1):
        for axes in itertools.permutations(free, length):
            if math.prod(sizes[axis] for axis in axes) == count:
                yield axes


def _spec_of_axes(axes_of_dims: Sequence[tuple[Any, ...]]) -> PartitionSpec:
    """Returns the spec that shards each dimension over a sequence of axes."""
    entries: list[Any] = [
        None if not axes else axes[0] if len(axes) == 1 else axes for axes in axes_of_dims
    ]
    while entries and entries[-1] is None:
        entries.pop()
    return PartitionSpec(*entries)


def hlo_from_proto(proto: Any) -> Any:
    """Converts the sharding that an executable reports to an `HloSharding`."""
    return HloSharding.from_proto(proto)
