# SPDX-License-Identifier: Apache-2.0
"""Layouts at the boundary of `shard_map`, where explicit mesh axes become manual.

A spec of `shard_map` refers to manual axes. Over all other explicit axes, a value has the same
layout inside and outside of the function.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from olympus_ir.settings import config_states
from olympus_ir.types.layouts import axes_of_entry, entries_of, layout_over
from olympus_ir.types.placement import (
    AbstractMesh,
    AxisType,
    BaseMesh,
    NamedSharding,
    PartitionSpec,
)

__all__ = [
    "check_closed_over",
    "check_layouts",
    "check_result_layouts",
    "check_sums",
    "global_layout",
    "local_layout",
    "manual_part",
    "mesh_inside",
]

_NO_AXES: frozenset = frozenset()


@functools.lru_cache(maxsize=256)
def mesh_inside(mesh: BaseMesh, manual: tuple) -> AbstractMesh:
    """Returns the current mesh inside a function with some manual axes."""
    abstract: AbstractMesh = mesh.abstract_mesh  # type: ignore[attr-defined]
    return abstract.update_axis_types(dict.fromkeys(manual, AxisType.Manual))


def _entry(axes: Sequence[Any]) -> Any:
    return tuple(axes) if len(axes) > 1 else (axes[0] if axes else None)


def manual_part(aval: Any, manual: Sequence[Any]) -> PartitionSpec:
    """Returns the part of an operand's layout that refers to manual axes."""
    entries = [
        _entry([axis for axis in axes_of_entry(entry) if axis in manual])
        for entry in entries_of(aval)
    ]
    spec = PartitionSpec() if aval.layout is None else aval.layout.spec
    return PartitionSpec(
        *entries,
        unreduced=spec.unreduced.intersection(manual),
        reduced=spec.reduced.intersection(manual),
    )


def local_layout(
    mesh: BaseMesh, manual: Sequence[Any], spec: PartitionSpec, aval: Any
) -> NamedSharding | None:
    """Returns the layout of one device's shard of an operand."""
    entries = [
        _entry([axis for axis in axes_of_entry(entry) if axis not in manual])
        for entry in entries_of(aval)
    ]
    own = PartitionSpec() if aval.layout is None else aval.layout.spec
    return layout_over(
        mesh_inside(mesh, tuple(manual)),
        entries,
        own.unreduced.difference(manual) | spec.unreduced,
        own.reduced.difference(manual) | spec.reduced,
    )


def global_layout(mesh: BaseMesh, spec: PartitionSpec, aval: Any) -> NamedSharding | None:
    """Returns the layout of the global result whose parts have the type ``aval``."""
    partitions = (*spec.partitions, *(None,) * (aval.ndim - len(spec)))
    entries = [
        _entry((*axes_of_entry(outer), *axes_of_entry(inner)))
        for outer, inner in zip(partitions, entries_of(aval), strict=True)
    ]
    own = PartitionSpec() if aval.layout is None else aval.layout.spec
    abstract: AbstractMesh = mesh.abstract_mesh  # type: ignore[attr-defined]
    return layout_over(
        abstract, entries, own.unreduced | spec.unreduced, own.reduced | spec.reduced
    )


def _explicit_part(spec: PartitionSpec, ndim: int, explicit: Sequence[Any]) -> PartitionSpec:
    """Returns the part of a spec that refers to explicit axes, with an entry for each dimension."""
    entries = [
        _entry([axis for axis in axes_of_entry(entry) if axis in explicit])
        for entry in (*spec.partitions, *(None,) * (ndim - len(spec)))
    ]
    return spec.update(partitions=tuple(entries))


def check_layouts(
    specs: Sequence[PartitionSpec], avals: Sequence[Any], manual: Sequence[Any], mesh: BaseMesh
) -> None:
    """Checks that specs match the layouts of the operands' types.

    Raises:
      ValueError: a spec differs from the layout of the operand's type.
    """
    explicit = set(mesh.explicit_axes)  # type: ignore[attr-defined]
    full = len(manual) == len(mesh.axis_names) and explicit.issuperset(manual)
    for spec, aval in zip(specs, avals, strict=True):
        if aval.is_ref:
            continue
        if aval.layout is None and not full:
            continue
        found = manual_part(aval, manual)
        chosen = mesh.axis_names if aval.layout is None else aval.layout.mesh.explicit_axes
        explicit_part = _explicit_part(spec, aval.ndim, chosen)
        if config_states.remove_size_one_mesh_axis_from_type.value:
            layout: Any = layout_over(mesh.abstract_mesh, explicit_part.partitions)  # type: ignore[attr-defined]
            entries = (None,) * aval.ndim if layout is None else layout.spec.partitions
            explicit_part = explicit_part.update(partitions=entries)
        if found != explicit_part and (full or found != PartitionSpec(*(None,) * aval.ndim)):
            own = found if aval.layout is None else aval.layout.spec
            raise ValueError(
                f"in_specs passed to shard_map: {explicit_part} does not match the specs of the "
                f"input: {own} for arg: {aval.str_short()}. `in_specs` is an optional "
                "argument so you can omit specifying it and shard_map will infer the in_specs from "
                "the arguments. If you want to reshard your inputs, you can use `olympus.reshard` "
                "on the arguments and then pass those args to shard_map."
            )


def check_sums(
    option: str, specs: Sequence[PartitionSpec], mesh: BaseMesh, manual: Sequence[Any]
) -> None:
    """Checks that `shard_map` supports the unreduced and reduced axes in specs.

    Raises:
      NotImplementedError: not all mesh axes are manual.
      ValueError: the axes are not of type `Explicit`.
    """
    types = dict(zip(mesh.axis_names, mesh.axis_types, strict=True))
    for spec in specs:
        if not spec.unreduced and not spec.reduced:
            continue
        if len(manual) < len(mesh.axis_names):
            raise NotImplementedError(
                f"unreduced/reduced can only be passed to {option}_specs when shard_map is in full "
                f"manual mode. Got mesh axis names {mesh.axis_names}, manual_axes: {set(manual)}, "
                f"specs: {spec}. Leave out `axis_names`."
            )
        for word in ("unreduced", "reduced"):
            if any(types.get(axis) is AxisType.Auto for axis in getattr(spec, word)):
                raise ValueError(
                    f"{word} in {option}_specs {spec} can only be used when the mesh passed to "
                    f"shard_map contains axis names all of type `Explicit`. Got mesh {mesh}"
                )


def check_closed_over(values: Sequence[Any], manual: Sequence[Any]) -> None:
    """Checks that a function closes over no value that is sharded over explicit axes.

    Raises:
      NotImplementedError: a value is sharded over explicit axes.
    """
    for value in values:
        layout = getattr(getattr(value, "aval", None), "layout", None)
        if layout is None or layout.mesh.manual_axes:
            continue
        if any(axis in manual for entry in layout.spec.partitions for axis in axes_of_entry(entry)):
            raise NotImplementedError(
                "Closing over inputs to shard_map where the input is sharded on `Explicit` axes is "
                "not implemented. As a workaround, please pass those inputs as an argument to "
                f"shard_map. Got input with type {value.aval.str_short(True)}"
            )


def check_result_layouts(
    specs: Sequence[PartitionSpec], avals: Sequence[Any], manual: Sequence[Any]
) -> None:
    """Checks that specs name the unreduced and reduced axes of the results' types.

    Raises:
      ValueError: the axes of a spec and those of the type differ.
    """
    for spec, aval in zip(specs, avals, strict=True):
        own = PartitionSpec() if aval.layout is None else aval.layout.spec
        for name, given, found in (
            ("unreduced", spec.unreduced, own.unreduced),
            ("reduced", spec.reduced, own.reduced),
        ):
            if given != found.intersection(manual):
                raise ValueError(
                    f"out_specs passed to shard_map should be equal to the {name} present on the "
                    f"out_aval. Got out_specs={spec} and out_aval={aval.str_short(True)}"
                )
