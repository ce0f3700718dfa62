# SPDX-License-Identifier: Apache-2.0
"""Descriptions of absent machines, as targets of compilation.

A platform's plugin describes a machine by name. Meshes and shardings can use the devices of the
description. A program lowered for these devices compiles to an executable that can be inspected but
not run. The plugin must be installed, but the machine may be absent.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from olympus_sharding.meshes.arrangements import create_device_mesh
from olympus_sharding.meshes.mesh import Mesh

from .._jaxlib import described_devices, devices_of_description
from . import backends
from .plugins import cuda, tpu

__all__ = [
    "CompileOnlyExecutable",
    "TopologyDescription",
    "get_attached_topology",
    "get_topology_desc",
    "make_mesh",
]


class TopologyDescription:
    """The devices of a machine that may be absent.

    Attributes:
      devices: one object for each device.

    Example:
      >>> from olympus_xla.platforms.topologies import TopologyDescription
      >>> TopologyDescription([]).devices
      []
    """

    def __init__(self, devices: Sequence[Any]) -> None:
        self.devices = list(devices)

    def __repr__(self) -> str:
        return f"TopologyDescription(devices={self.devices})"


def get_attached_topology(platform: str | None = None) -> TopologyDescription:
    """Describes the devices of this process.

    Args:
      platform: the platform; by default the platform on which computations run.

    Returns:
      The description. Programs that are compiled for it are not loaded onto devices.

    Raises:
      RuntimeError: the platform cannot be used.

    Example:
      >>> from olympus_xla.platforms.topologies import get_attached_topology
      >>> get_attached_topology("cpu").devices[0].platform
      'cpu'
    """
    return TopologyDescription(described_devices(backends.devices(platform)))


def get_topology_desc(
    topology_name: str = "", platform: str | None = None, **kwargs: Any
) -> TopologyDescription:
    """Describes a machine, which may be absent, by name.

    Args:
      topology_name: the name that the platform's plugin knows, such as ``"v5e:2x2"`` for TPUs.
      platform: ``"tpu"`` or ``"cuda"``; by default the platform on which computations run.
      **kwargs: options for the plugin. CUDA needs ``topology``, the numbers of slices, processes
        and devices (such as ``"1x1x1"``), and ``target_config``, the text form of the GPU's
        description.

    Returns:
      The description.

    Raises:
      RuntimeError: the plugin is not installed.
      NotImplementedError: the platform's plugin cannot describe machines.
    """
    platform = platform or backends.default_backend()
    registered = backends.platform(platform)
    if registered is not None and registered.make_topology is not None:
        topology: Any = registered.make_topology(topology_name, **kwargs)
        found: Any = topology.devices() if callable(topology.devices) else topology.devices
        return TopologyDescription(found)
    if platform in ("gpu", "cuda"):
        cuda.load_plugin()
        platform = "cuda"
    elif platform == "tpu":
        os.environ.setdefault("TPU_SKIP_MDS_QUERY", "1")  # The plugin must not search for a TPU.
        tpu.load_plugin()
    else:
        raise NotImplementedError(
            f"get_topology_desc needs a plugin that describes machines: tpu or cuda, not {platform}"
        )
    options = {name: str(value) for name, value in kwargs.items()}
    return TopologyDescription(devices_of_description(platform, topology_name, options))


def make_mesh(
    topo: TopologyDescription,
    mesh_shape: Sequence[int],
    axis_names: tuple[str, ...],
    *,
    contiguous_submeshes: bool = False,
) -> Mesh:
    """Returns a mesh of the devices in a description.

    Args:
      topo: the description.
      mesh_shape: the extents of the mesh.
      axis_names: the names of the axes.
      contiguous_submeshes: whether the devices of each process form a contiguous submesh.

    Raises:
      ValueError: the extents do not multiply to the number of devices.
    """
    devices = create_device_mesh(
        list(mesh_shape), topo.devices, contiguous_submeshes=contiguous_submeshes
    )
    return Mesh(np.asarray(devices), axis_names)


class CompileOnlyExecutable:
    """Executable for absent devices, which can be inspected but not run."""

    def __init__(self, executable: Any) -> None:
        self._executable = executable

    def __getattr__(self, name: str) -> Any:
        return getattr(self._executable, name)

    def local_devices(self) -> list[Any]:
        """An empty list, because there are no devices."""
        return []

    def get_hlo_text(self) -> str:
        """Returns the optimized modules as text."""
        return "\n\n".join(module.to_string() for module in self._executable.hlo_modules())

    def execute_sharded(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Raises an error, because the devices are absent."""
        raise RuntimeError(
            "this program was compiled for a description of devices, and there are none to run it "
            "on. Compile it for devices of olympus.devices()."
        )
