# SPDX-License-Identifier: Apache-2.0
"""Layouts: the part of a sharding that belongs to the type of an array.

The layout of a type says how an array is sharded over the explicit axes of a mesh. It also names
the axes over which the devices hold the terms of a sum (unreduced), and the axes over which the
cotangent will be unreduced (reduced). A type without axes has no layout (None): the array is
replicated over any mesh. Programs without explicit axes therefore have no overhead, and a value
made outside of a mesh can be used inside a mesh.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any

from ..diagnostics.errors import ShardingTypeError
from ..settings import config_states
from .memory_spaces import space_of_kind
from .placement import (
    UNCONSTRAINED,
    AbstractMesh,
    AxisType,
    NamedSharding,
    PartitionSpec,
    empty_abstract_mesh,
)

__all__ = [
    "ManualAxisType",
    "axes_of_entry",
    "axes_text",
    "check_divisible",
    "check_no_axis_twice",
    "entries_of",
    "layout_over",
    "leading",
    "manual_axis_type",
    "mesh_in_force",
    "mesh_text",
    "normal_form",
    "of_sharding",
    "placed",
    "replicated",
    "texts",
    "with_dimension",
    "with_variation",
    "without_dimension",
]

_NO_AXES: frozenset = frozenset()


def mesh_in_force() -> AbstractMesh:
    """Returns the mesh of `set_mesh` or `use_abstract_mesh`, as an abstract mesh.

    The mesh has no axes if neither is in use.
    """
    mesh = config_states.abstract_mesh.value
    return empty_abstract_mesh if mesh is None else mesh


def axes_of_entry(entry: Any) -> tuple:
    """Returns the mesh axes in one entry of a partition spec."""
    if entry is None or entry is UNCONSTRAINED:
        return ()
    return entry if isinstance(entry, tuple) else (entry,)


def entries_of(aval: Any) -> tuple:
    """Returns for each dimension the mesh axes over which the type is sharded, or None."""
    return (None,) * aval.ndim if aval.layout is None else aval.layout.spec.partitions


# ---- the normal form ----


def normal_form(sharding: Any, ndim: int) -> NamedSharding | None:
    """Returns the layout of an array with a sharding; None if the sharding names no axis.

    Args:
      sharding: a `NamedSharding`, or a partition spec over the current mesh.
      ndim: the number of dimensions of the array.

    Raises:
      TypeError: the sharding is neither a `NamedSharding` nor a partition spec.
      ValueError: the mesh is not abstract, or the spec has more entries than ``ndim``.
    """
    if isinstance(sharding, PartitionSpec):
        sharding = NamedSharding(mesh_in_force(), sharding)
    if type(sharding) is not NamedSharding:
        raise TypeError(
            f"the sharding of a type must be a NamedSharding, got {sharding!r} of type "
            f"{type(sharding).__name__}"
        )
    if type(sharding.mesh) is not AbstractMesh:
        raise ValueError(
            f"Mesh of an aval must be an AbstractMesh. Got {sharding.mesh} of type "
            f"{type(sharding.mesh)}"
        )
    return _normal_form(sharding.mesh, sharding.spec, ndim)


def _normal_form(mesh: AbstractMesh, spec: PartitionSpec, ndim: int) -> NamedSharding | None:
    if config_states.remove_size_one_mesh_axis_from_type.value:
        spec = _without_axes_of_one(mesh, spec)
    return _normal_form_of(mesh, spec, ndim)


@functools.lru_cache(maxsize=1024)
def _without_axes_of_one(mesh: AbstractMesh, spec: PartitionSpec) -> PartitionSpec:
    axes_of_one = {axis for axis, size in mesh.shape_tuple if size == 1}
    entries = []
    for entry in spec.partitions:
        if entry is UNCONSTRAINED:
            entries.append(entry)
            continue
        axes = tuple(axis for axis in axes_of_entry(entry) if axis not in axes_of_one)
        entries.append(axes if len(axes) > 1 else axes[0] if axes else None)
    return PartitionSpec(
        *entries, unreduced=spec.unreduced - axes_of_one, reduced=spec.reduced - axes_of_one
    )


@functools.lru_cache(maxsize=4096)
def _normal_form_of(mesh: AbstractMesh, spec: PartitionSpec, ndim: int) -> NamedSharding | None:
    if len(spec) > ndim:
        raise ValueError(
            f"Length of sharding.spec must be equal to aval's ndim. Got sharding.spec {spec} and "
            f"aval.ndim {ndim}"
        )
    explicit = frozenset(mesh.explicit_axes)
    typed = explicit | frozenset(mesh.manual_axes)
    entries = tuple(_explicit_entry(entry, explicit) for entry in spec)
    unreduced, reduced = spec.unreduced & typed, spec.reduced & typed
    if not (unreduced or reduced or any(entries)):
        return None
    entries += (None,) * (ndim - len(entries))
    return _interned(mesh, PartitionSpec(*entries, unreduced=unreduced, reduced=reduced))


@functools.lru_cache(maxsize=4096)
def _interned(mesh: AbstractMesh, spec: PartitionSpec) -> NamedSharding:
    # Intern layouts, so interned types compare them by identity.
    return NamedSharding(mesh, spec)


def _explicit_entry(entry: Any, explicit: frozenset) -> Any:
    axes = tuple(axis for axis in axes_of_entry(entry) if axis in explicit)
    return axes[0] if len(axes) == 1 else axes or None


def layout_over(
    mesh: AbstractMesh,
    entries: Sequence[Any],
    unreduced: frozenset = _NO_AXES,
    reduced: frozenset = _NO_AXES,
) -> NamedSharding | None:
    """Returns the layout over a mesh with these partition entries; None if none names an axis."""
    spec = PartitionSpec(*entries, unreduced=unreduced, reduced=reduced)
    return _normal_form(mesh, spec, len(entries))


@functools.lru_cache(maxsize=1024)
def _replicated(mesh: AbstractMesh, ndim: int) -> NamedSharding:
    return NamedSharding(mesh, PartitionSpec(*(None,) * ndim))


def replicated(ndim: int, mesh: AbstractMesh | None = None) -> NamedSharding:
    """Returns the replicated sharding over a mesh, by default the current mesh."""
    return _replicated(mesh_in_force() if mesh is None else mesh, ndim)


def leading(layout: NamedSharding | None, ndim: int) -> NamedSharding | None:
    """Returns the layout restricted to the first ``ndim`` dimensions.

    An array of an extended dtype has fewer dimensions than its physical array. This function
    converts the layout of the physical array to the layout of the array.
    """
    if layout is None:
        return None
    spec = layout.spec
    return layout_over(layout.mesh, spec.partitions[:ndim], spec.unreduced, spec.reduced)


def without_dimension(layout: NamedSharding | None, dimension: int) -> NamedSharding | None:
    """Returns the layout of one slice along a dimension."""
    if layout is None:
        return None
    spec = layout.spec
    entries = spec.partitions[:dimension] + spec.partitions[dimension + 1 :]
    return layout_over(layout.mesh, entries, spec.unreduced, spec.reduced)


def with_dimension(
    layout: NamedSharding | None, dimension: int, entry: Any = None
) -> NamedSharding | None:
    """Returns the layout of arrays stacked along a new dimension, sharded over ``entry``."""
    if layout is None:
        return None
    spec = layout.spec
    entries = (*spec.partitions[:dimension], entry, *spec.partitions[dimension:])
    return layout_over(layout.mesh, entries, spec.unreduced, spec.reduced)


def placed(aval: Any, sharding: Any) -> Any:
    """Returns the type of an array on devices, with the memory space and layout of its sharding.

    Args:
      aval: the type; its memory space and layout are replaced.
      sharding: the sharding over devices.
    """
    space = space_of_kind(getattr(sharding, "_memory_kind", None))
    if aval.memory_space is not space:
        aval = aval.update(memory_space=space)
    if type(sharding) is NamedSharding:
        return _placed(aval, sharding.mesh, sharding.spec)
    return aval if aval.layout is None else aval.update(sharding=None)


def of_sharding(sharding: Any, ndim: int) -> NamedSharding | None:
    """Returns the layout of a sharding; None if the sharding has no explicit mesh axes."""
    if type(sharding) is not NamedSharding or not sharding.mesh.explicit_axes:
        return None
    return _normal_form(sharding.mesh.abstract_mesh, sharding.spec, ndim)


def _placed(aval: Any, mesh: Any, spec: PartitionSpec) -> Any:
    layout = None
    if mesh.explicit_axes:
        if len(spec) > aval.ndim:  # the spec may be for an extended dtype's physical array
            spec = spec.update(partitions=spec.partitions[: aval.ndim])
        layout = _normal_form(mesh.abstract_mesh, spec, aval.ndim)
    return aval if aval.layout is layout else aval.update(sharding=layout)


def check_divisible(shape: Sequence[Any], layout: NamedSharding) -> None:
    """Raises ValueError if a dimension's size is not divisible by the sizes of its mesh axes."""
    sizes = layout.mesh.shape
    for dimension, (size, entry) in enumerate(zip(shape, layout.spec.partitions, strict=True)):
        parts = math.prod(sizes[axis] for axis in axes_of_entry(entry))
        if parts > 1 and type(size) is int and size % parts:
            raise ValueError(
                f"Sharding spec {layout.spec.partitions} implies that array axis {dimension} is "
                f"partitioned {parts} times, but does not evenly divide the dimension size {size}. "
                f"Got shape: {tuple(shape)} and sharding {layout}"
            )


def check_no_axis_twice(operation: str, layout_entries: Sequence[Any], shown: Any) -> None:
    """Raises ShardingTypeError if a mesh axis shards two dimensions of a result.

    Args:
      operation: the operation, for the error message.
      layout_entries: the partition entries of the result.
      shown: a function that returns the texts of the operands and of the result.
    """
    seen: set = set()
    for entry in layout_entries:
        for axis in axes_of_entry(entry):
            if axis in seen:
                operands, result = shown()
                raise ShardingTypeError(
                    f"{operation} operation with inputs: {operands} produces an illegally sharded "
                    f"result: {result}"
                )
            seen.add(axis)


# ---- manual axes ----


class ManualAxisType:
    """Variation of a value along the manual axes of a mesh, inside `shard_map`.

    Args:
      varying: the axes along which the value differs between devices.
      unreduced: the axes along which the devices hold terms of a sum.
      reduced: the axes along which the value is replicated and its cotangent is unreduced.

    Example:
      >>> ManualAxisType(varying={"x"}).varying
      frozenset({'x'})
    """

    __slots__ = ("reduced", "unreduced", "varying")

    def __init__(
        self,
        *,
        varying: frozenset | set = _NO_AXES,
        unreduced: frozenset | set = _NO_AXES,
        reduced: frozenset | set = _NO_AXES,
    ) -> None:
        self.varying = frozenset(varying)
        self.unreduced = frozenset(unreduced)
        self.reduced = frozenset(reduced)

    def update(self, **changes: Any) -> ManualAxisType:
        """Returns a copy with some fields changed."""
        return ManualAxisType(
            **{
                "varying": self.varying,
                "unreduced": self.unreduced,
                "reduced": self.reduced,
                **changes,
            }
        )

    @property
    def vur(self) -> frozenset:
        """The axes along which the value varies, or is unreduced or reduced."""
        return self.varying | self.unreduced | self.reduced

    def invarying(self, mesh: Any) -> frozenset:
        """Returns the manual axes of a mesh that are neither varying nor unreduced nor reduced."""
        return frozenset(mesh.manual_axes) - self.vur

    def to_ct_mat(self) -> ManualAxisType:
        """Returns the variation of cotangents: unreduced and reduced axes are swapped."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)

    @property
    def empty(self) -> bool:
        """True if no axis is named."""
        return not (self.varying or self.unreduced or self.reduced)

    def _key(self) -> tuple:
        return (self.varying, self.unreduced, self.reduced)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ManualAxisType) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return (
            f"ManualAxisType(varying={self.varying}, unreduced={self.unreduced}, "
            f"reduced={self.reduced})"
        )


def manual_axis_type(varying: frozenset, layout: NamedSharding | None) -> ManualAxisType:
    """Returns the variation of a type along manual axes, given its layout."""
    if layout is None:
        return ManualAxisType(varying=varying)
    manual = frozenset(layout.mesh.manual_axes)
    spec = layout.spec
    return ManualAxisType(
        varying=varying, unreduced=spec.unreduced & manual, reduced=spec.reduced & manual
    )


def with_variation(variation: ManualAxisType, sharding: Any) -> tuple[frozenset, Any]:
    """Returns the varying axes, and the sharding with the unreduced and reduced axes.

    ``variation`` lists all of these axes.

    Raises:
      TypeError: there are unreduced or reduced axes, but no `NamedSharding`.
    """
    if variation.unreduced or variation.reduced:
        mesh, spec = getattr(sharding, "mesh", None), getattr(sharding, "spec", None)
        if mesh is None or spec is None:
            raise TypeError(
                f"a type with {variation} needs a NamedSharding as `sharding`, which names the "
                f"mesh, got {sharding!r}"
            )
        spec = spec.update(unreduced=variation.unreduced, reduced=variation.reduced)
        sharding = NamedSharding(mesh, spec)
    return frozenset(variation.varying), sharding


# ---- printing ----


def axes_text(axes: Sequence[Any]) -> str:
    """Formats mesh axes as printed types show them: ``x`` or ``(x,y)``."""
    return str(axes[0]) if len(axes) == 1 else f"({','.join(map(str, axes))})"


def texts(shape: Sequence[Any], layout: NamedSharding | None, varying: frozenset) -> tuple:
    """Formats sizes with their mesh axes, ``8@x,2``, and the remaining axes, ``{V:y}``."""
    groups = [("V", varying)]
    entries: Sequence[Any] = (None,) * len(shape)
    if layout is not None:
        groups += [("U", layout.spec.unreduced), ("R", layout.spec.reduced)]
        entries = layout.spec.partitions
    dimensions = ",".join(
        str(size) if entry is None else f"{size}@{axes_text(axes_of_entry(entry))}"
        for size, entry in zip(shape, entries, strict=True)
    )
    shown = ", ".join(
        f"{letter}:{axes_text(sorted(map(str, axes)))}" for letter, axes in groups if axes
    )
    return dimensions, f"{{{shown}}}" if shown else ""


def mesh_text(layout: NamedSharding | None) -> str:
    """Formats the axis types of the layout's mesh, or of the current mesh if there is no layout."""
    mesh = mesh_in_force() if layout is None else layout.mesh
    by_type: dict[AxisType, list] = {}
    for name, kind in zip(mesh.axis_names, mesh.axis_types, strict=True):
        by_type.setdefault(kind, []).append(name)
    if not by_type:
        return ""
    return "({" + ", ".join(f"{kind.name}: {tuple(n)}" for kind, n in by_type.items()) + "})"
