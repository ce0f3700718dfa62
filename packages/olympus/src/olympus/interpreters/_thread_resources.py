# SPDX-License-Identifier: Apache-2.0
"""The mesh of the enclosing ``with mesh:``, as libraries written for JAX read it."""

from __future__ import annotations

from typing import NamedTuple

from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.settings import config_states
from olympus_ir.types.placement import MeshAxisName
from olympus_sharding.meshes.mesh import Mesh, empty_mesh


class ResourceEnv(NamedTuple):
    """The devices that the enclosing ``with mesh:`` provides to programs."""

    physical_mesh: Mesh

    @property
    def shape(self) -> dict[MeshAxisName, int]:
        """The size of each axis by its name."""
        return dict(self.physical_mesh.shape)

    @property
    def resource_axes(self) -> set[MeshAxisName]:
        """The names of the axes."""
        return set(self.physical_mesh.axis_names)


class _ThreadResources:
    @property
    def env(self) -> ResourceEnv:
        """The devices of the current thread; an empty mesh outside of ``with mesh:``."""
        return ResourceEnv(config_states.current_scope("mesh", empty_mesh))


thread_resources = _ThreadResources()


def deprecated(name: str) -> _ThreadResources:
    """Returns the value of `pxla.thread_resources` with a warning.

    Raises:
      AttributeError: for any other name.
    """
    if name != "thread_resources":
        raise AttributeError(name)
    warn_user(
        "olympus.interpreters.pxla.thread_resources is deprecated. Enter the mesh by "
        "`with olympus.set_mesh(mesh):` and read it by `olympus.sharding.get_abstract_mesh()`.",
        DeprecationWarning,
    )
    return thread_resources
