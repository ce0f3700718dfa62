# SPDX-License-Identifier: Apache-2.0
"""Device meshes, shardings and partitioning of OLYMPUS programs."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.loading import deferred
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.layouts import ManualAxisType
from olympus_ir.types.placement import AbstractDevice, AbstractMesh, AxisType, PartitionSpec
from olympus_ir.types.resharding import install_reshard

from .__about__ import __version__
from .meshes.context import get_abstract_mesh, get_mesh, set_mesh, use_abstract_mesh
from .meshes.mesh import Mesh, make_mesh
from .shardings.behavior import (
    DuplicateSpecError,
    IndivisibleError,
    NamedSharding,
    Sharding,
    SingleDeviceSharding,
    make_single_device_sharding,
)

__all__ = [
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "DuplicateSpecError",
    "IndivisibleError",
    "ManualAxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "__version__",
    "get_abstract_mesh",
    "get_mesh",
    "make_mesh",
    "make_single_device_sharding",
    "set_mesh",
    "use_abstract_mesh",
]


# These modules load the rules of batching and differentiation, so they are imported on first use.
if TYPE_CHECKING:
    from .annotations import constraints
    from .manual import parts
else:
    constraints = deferred(".annotations.constraints", milliseconds=60)
    parts = deferred(".manual.parts", milliseconds=60)


def _bind_reshard(value: Any, sharding: NamedSharding, concrete_mesh: Any) -> Any:
    return constraints.bind_reshard_p(value, sharding, concrete_mesh)


install_reshard(_bind_reshard)


# ---- methods of `ShapedArray` for parts of arrays ----


def _shard(
    self: ShapedArray, mesh: Any, manual_axes: Any, check_vma: bool, spec: PartitionSpec
) -> ShapedArray:
    """Returns the type of one device's shard of an array."""
    return parts.shard(self, mesh, manual_axes, check_vma, spec)


def _unshard(self: ShapedArray, mesh: Any, check_vma: bool, spec: PartitionSpec) -> ShapedArray:
    """Returns the type of an array, given the type of one device's shard."""
    return parts.unshard(self, mesh, spec)


def _nospec(self: ShapedArray, mesh: Any, check_vma: bool, all_names: tuple) -> PartitionSpec:
    """Returns the spec of a residual: the devices' shards are concatenated along dimension 0."""
    return parts.spec_of_residual(self, check_vma, all_names)


for _name, _member in (("shard", _shard), ("unshard", _unshard), ("nospec", _nospec)):
    setattr(ShapedArray, _name, _member)


# The modules of these functions load the rules of batching and differentiation. They are imported
# on first use.
_MODULES = {
    "auto_axes": "annotations.axis_scopes",
    "explicit_axes": "annotations.axis_scopes",
    "inspect_array_sharding": "annotations.inspection",
    "pmap": "manual.pmap",
    "reshard": "annotations.constraints",
    "shard_map": "manual.shard_map",
    "smap": "manual.shard_map",
    "visualize_array_sharding": "annotations.inspection",
    "visualize_sharding": "shardings.visualization",
    "with_sharding_constraint": "annotations.constraints",
}


def __getattr__(name: str) -> Any:
    module = _MODULES.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{module}"), name)


register_library_folder(__path__[0])
