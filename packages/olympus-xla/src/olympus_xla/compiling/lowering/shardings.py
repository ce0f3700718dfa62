# SPDX-License-Identifier: Apache-2.0
"""Meshes and shardings as attributes of Shardy's dialect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.types.placement import PartitionSpec

from . import mlir

if TYPE_CHECKING:
    import json
else:
    json = deferred("json", milliseconds=0.8)


def mesh_attribute(mesh: Any) -> Any:
    """Returns the attribute that lists the axes of a mesh in order."""
    axes = ", ".join(f"{_quoted(name)}={size}" for name, size in mesh.shape.items())
    return mlir.parsed(f"#sdy.mesh<[{axes}]>")


def sharding_attribute(sharding: Any, aval: Any, symbol: str) -> Any:
    """Returns the attribute for a `NamedSharding` of an array.

    Args:
      sharding: the sharding.
      aval: the type of the array.
      symbol: the symbol of the sharding's mesh in the module.
    """
    return spec_attribute(sharding.spec, mlir.physical_aval(aval).ndim, mesh=symbol)


def spec_attribute(
    spec: PartitionSpec,
    ndim: int,
    *,
    open_dimensions: bool = False,
    mesh: str = "mesh",
    replicated: Iterable[Any] = (),
) -> Any:
    """Returns the attribute for a partition spec over a mesh of the module.

    Args:
      spec: the spec.
      ndim: the number of dimensions of the (physical) array.
      open_dimensions: whether the compiler may shard dimensions over further axes.
      mesh: the symbol of the mesh.
      replicated: axes over which the compiler must not shard any dimension.
    """
    text = sharding_text(mesh, spec, ndim, open_dimensions, replicated)
    return mlir.parsed(f"#sdy.sharding{text}")


def sharding_text(
    mesh: str,
    spec: PartitionSpec,
    ndim: int,
    open_dimensions: bool = False,
    replicated: Iterable[Any] = (),
) -> str:
    """Returns the text of an attribute for a partition spec over a mesh of the module."""
    dimensions = dimensions_text(spec, ndim, open_dimensions)
    same = ", ".join(map(_quoted, replicated))
    axes = ", ".join(sorted(map(_quoted, spec.unreduced)))
    terms = f", replicated={{{same}}}" if same else ""
    terms += f", unreduced={{{axes}}}" if axes else ""
    return f"<@{mesh}, [{dimensions}]{terms}>"


def dimensions_text(spec: PartitionSpec, ndim: int, open_dimensions: bool = False) -> str:
    """Returns the text of the dimensions of a spec in an attribute."""
    entries = (*spec, *(None,) * (ndim - len(spec)))

    def dimension_text(entry: Any) -> str:
        if entry is PartitionSpec.UNCONSTRAINED:
            return "{?}"
        if entry is None:
            return "{?}" if open_dimensions else "{}"
        names = [*map(_quoted, entry if isinstance(entry, tuple) else (entry,))]
        return "{" + ", ".join([*names, "?"] if open_dimensions else names) + "}"

    return ", ".join(map(dimension_text, entries))


def _quoted(name: Any) -> str:
    return json.dumps(str(name))
