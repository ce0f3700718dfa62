# SPDX-License-Identifier: Apache-2.0
"""Arrangements of the devices of a torus, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from olympus_sharding.meshes.arrangements import arranged_torus, axis_assignments

__all__ = ["create_device_mesh_for_nd_torus", "create_device_mesh_splitting_axes"]


def create_device_mesh_for_nd_torus(
    physical_mesh: np.ndarray,
    mesh_shape: Sequence[int],
    *,
    allow_split_physical_axes: bool = False,
) -> tuple[np.ndarray, np.ndarray]:
    """Assigns the axes of a torus to the axes of a mesh.

    Args:
      physical_mesh: the devices at their physical coordinates.
      mesh_shape: the sizes of the mesh's axes.
      allow_split_physical_axes: whether parts of a physical axis may belong to different axes of
        the mesh.

    Returns:
      The devices in an array of shape ``mesh_shape``; and an array of integers of shape ``(physical
      axes, axes of the mesh)``, the size of the part of the physical axis that belongs to the axis
      of the mesh.

    Raises:
      NotImplementedError: there is no assignment.
    """
    shape = tuple(mesh_shape)
    assignment = next(axis_assignments(physical_mesh.shape, shape, allow_split_physical_axes))
    return arranged_torus(physical_mesh, shape, assignment), np.array(assignment).T


def create_device_mesh_splitting_axes(
    physical_mesh: np.ndarray, mesh_shape: Sequence[int]
) -> tuple[np.ndarray, np.ndarray]:
    """Assigns the axes of a torus, or parts of them, to the axes of a mesh."""
    return create_device_mesh_for_nd_torus(
        physical_mesh, mesh_shape, allow_split_physical_axes=True
    )
