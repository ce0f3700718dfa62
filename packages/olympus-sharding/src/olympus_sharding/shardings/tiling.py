# SPDX-License-Identifier: Apache-2.0
"""Tilings: which part of each dimension every device of a mesh holds under a partition spec."""

from __future__ import annotations

import functools
import math
from typing import TypeAlias

import numpy as np

from olympus_ir.types.placement import UNCONSTRAINED, BaseMesh, MeshAxisName, PartitionSpec

__all__ = ["Index", "axes_of_dimensions", "mesh_tiling", "slices"]

Index = tuple[slice, ...]
Tiling: TypeAlias = tuple[tuple[int, ...], np.ndarray]


def axes_of_dimensions(spec: PartitionSpec, ndim: int) -> tuple[tuple[MeshAxisName, ...], ...]:
    """Returns the mesh axes over which each of ``ndim`` dimensions is split, major first."""
    entries = (*spec.partitions, *(None,) * (ndim - len(spec.partitions)))
    return tuple(
        ()
        if entry is None or entry is UNCONSTRAINED
        else entry
        if isinstance(entry, tuple)
        else (entry,)
        for entry in entries
    )


@functools.lru_cache(maxsize=4096)
def mesh_tiling(mesh: BaseMesh, spec: PartitionSpec, ndim: int) -> Tiling:
    """Returns the tiling of an array of ``ndim`` dimensions that a mesh and a spec describe.

    Returns:
      The number of equal parts of each dimension, and an array of shape [devices, dimensions]. For
      every device, in device order, the array has the index of its part in each dimension.

    Raises:
      ValueError: the spec splits more dimensions than the array has.
    """
    if any(axes_of_dimensions(spec, ndim)[ndim:]):
        raise ValueError(
            f"{spec} is only valid for values of rank at least {len(spec)}, but was applied to a "
            f"value of rank {ndim}."
        )
    coordinates = dict(
        zip(mesh.axis_names, np.indices(mesh.axis_sizes).reshape(len(mesh.axis_sizes), mesh.size))
    )
    sizes = mesh.shape
    factors = []
    parts = np.zeros((mesh.size, ndim), dtype=int)
    for dimension, axes in enumerate(axes_of_dimensions(spec, ndim)):
        factors.append(math.prod(sizes[axis] for axis in axes))
        for axis in axes:
            parts[:, dimension] = parts[:, dimension] * sizes[axis] + coordinates[axis]
    parts.flags.writeable = False
    return tuple(factors), parts


@functools.lru_cache(maxsize=4096)
def slices(mesh: BaseMesh, spec: PartitionSpec, shape: tuple[int, ...]) -> tuple[Index, ...]:
    """Returns the slices of each device's shard of the whole array, in device order.

    The sizes must be divisible by the factors of the tiling.
    """
    factors, parts = mesh_tiling(mesh, spec, len(shape))
    # One tuple of slices per dimension, shared by the devices.
    choices = [
        (slice(None),)
        if factor == 1
        else tuple(slice(k * (size // factor), (k + 1) * (size // factor)) for k in range(factor))
        for size, factor in zip(shape, factors)
    ]
    return tuple(
        tuple(choice[part] for choice, part in zip(choices, row)) for row in parts.tolist()
    )
