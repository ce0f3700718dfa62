# SPDX-License-Identifier: Apache-2.0
"""Data types of placement: the mesh axes over which the dimensions of an array are laid out.

Nothing here depends on a device. `PartitionSpec` assigns mesh axes to array dimensions, and
`AbstractMesh` holds the names, sizes and types of the axes. Together they describe the placement of
an array in its type. Meshes of real devices belong to olympus-sharding. That package also adds
methods to the plain sharding records re-exported here (`NamedSharding`, `SingleDeviceSharding`).

Partition specs and meshes are immutable and interned: equal values are the same object. Types that
contain placement therefore compare by identity.
"""

from __future__ import annotations

import collections
import enum
import math
from collections.abc import Hashable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NoReturn, TypeAlias

from .._jaxlib import (
    DeviceList,
    canonicalize_partitions,
    check_named_shardings_with,
    set_pspec_unconstrained,
    weak_value_interner,
)
from ..diagnostics.traceback_filtering import api_boundary, boundary_class
from .records import Record

if TYPE_CHECKING:
    from .placement_interface import Device, NamedSharding, Sharding, SingleDeviceSharding
else:
    from .._jaxlib import Device, NamedSharding, Sharding, SingleDeviceSharding

__all__ = [
    "UNCONSTRAINED",
    "UNSPECIFIED",
    "AbstractDevice",
    "AbstractMesh",
    "AxisType",
    "BaseMesh",
    "Device",
    "DeviceList",
    "MeshAxisName",
    "NamedSharding",
    "P",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "UnspecifiedValue",
    "check_axis_types",
    "check_named_shardings_with",
    "empty_abstract_mesh",
    "install_empty_mesh",
    "no_mesh",
]

MeshAxisName: TypeAlias = Hashable
_NO_AXES: frozenset = frozenset()


class AxisType(enum.Enum):
    """Kind of a mesh axis: the authority that chooses the layouts of arrays over the axis.

    Attributes:
      Auto: the compiler, guided by constraints.
      Explicit: the types of the program; each operation's result type includes the layout.
      Manual: the user's program, written for one shard, as inside `shard_map`.
    """

    Auto = enum.auto()
    Explicit = enum.auto()
    Manual = enum.auto()

    def __repr__(self) -> str:
        return self.name


class _Unconstrained:
    """The type of `UNCONSTRAINED`."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNCONSTRAINED"

    def __reduce__(self) -> str:
        return "UNCONSTRAINED"

    def __copy__(self) -> _Unconstrained:
        return self

    def __deepcopy__(self, memo: dict) -> _Unconstrained:
        return self


# The entry of a partition spec that leaves a dimension to the compiler.
UNCONSTRAINED = _Unconstrained()
set_pspec_unconstrained(UNCONSTRAINED)


class UnspecifiedValue(enum.Enum):
    """Type of `UNSPECIFIED`, which stands for the sharding of an operand or result without one."""

    UNSPECIFIED = enum.auto()

    def __repr__(self) -> str:
        return "UnspecifiedValue"


# The entry of `in_shardings` and `out_shardings` for a value whose sharding the user left open.
UNSPECIFIED = UnspecifiedValue.UNSPECIFIED


class _Frozen:
    """Base of immutable values.

    Fields are set only by the function that makes an interned value.
    """

    __slots__ = ()

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"cannot delete field {name!r}")

    # Equal values are the same object, so a copy is the value itself.
    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: dict) -> Any:
        return self


_set_field = object.__setattr__


class PartitionSpec(_Frozen):
    """Partition spec: an assignment of mesh axes to the dimensions of an array.

    Args:
      *partitions: for each dimension, the name of a mesh axis; a tuple of names, major axis first;
        None if the dimension is not sharded; or `PartitionSpec.UNCONSTRAINED` if the compiler may
        choose. Dimensions without an entry are not sharded.
      unreduced: axes over which the shards hold partial sums that must still be added.
      reduced: axes over which the value is replicated and its cotangent will be unreduced.

    Example:
      >>> PartitionSpec("x", None)
      P('x', None)
      >>> PartitionSpec(("x", "y"), unreduced={"z"})
      P(('x', 'y'), unreduced={'z'})
    """

    __slots__ = ("__weakref__", "_partitions", "reduced", "unreduced")

    _partitions: tuple
    unreduced: frozenset
    reduced: frozenset

    UNCONSTRAINED = UNCONSTRAINED

    @api_boundary
    def __new__(
        cls,
        *partitions: Any,
        unreduced: frozenset | set = _NO_AXES,
        reduced: frozenset | set = _NO_AXES,
    ) -> PartitionSpec:
        if unreduced is not _NO_AXES:
            unreduced = _axis_set("unreduced", unreduced)
        if reduced is not _NO_AXES:
            reduced = _axis_set("reduced", reduced)
        return _intern_spec(canonicalize_partitions(partitions), unreduced, reduced)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        raise TypeError("PartitionSpec cannot be subclassed: its values are interned by content.")

    def __getattr__(self, name: str) -> NoReturn:
        # The C++ constructor of `NamedSharding` reads the mesh's size before it checks types.
        hint = "; NamedSharding takes the mesh before the spec" if name == "size" else ""
        raise AttributeError(f"'PartitionSpec' object has no attribute {name!r}{hint}")

    @property
    def partitions(self) -> tuple:
        """The entries in normal form, one for each dimension."""
        return self._partitions

    def __repr__(self) -> str:
        axes = [
            f"{name}={{{', '.join(sorted(map(repr, group)))}}}" for name, group in self._groups()
        ]
        if axes:
            return f"P({', '.join([*map(repr, self._partitions), *axes])})"
        return f"P{self._partitions!r}"

    def _groups(self) -> list[tuple[str, frozenset]]:
        groups = (("unreduced", self.unreduced), ("reduced", self.reduced))
        return [(name, group) for name, group in groups if group]

    def __reduce__(self) -> tuple:
        return (_rebuild_spec, (self._partitions, self.unreduced, self.reduced))

    @api_boundary
    def __getitem__(self, index: Any) -> Any:
        return self._partitions[index]

    def __iter__(self) -> Iterator[Any]:
        return iter(self._partitions)

    def __len__(self) -> int:
        return len(self._partitions)

    def __add__(self, other: PartitionSpec | tuple) -> PartitionSpec:
        if isinstance(other, PartitionSpec):
            return PartitionSpec(
                *self._partitions,
                *other._partitions,
                unreduced=self.unreduced | other.unreduced,
                reduced=self.reduced | other.reduced,
            )
        if isinstance(other, tuple):
            self._check_only_partitions(other, "__add__")
            return PartitionSpec(*self._partitions, *other)
        return NotImplemented

    def __radd__(self, other: tuple) -> PartitionSpec:
        if isinstance(other, tuple):
            self._check_only_partitions(other, "__radd__")
            return PartitionSpec(*other, *self._partitions)
        return NotImplemented

    def _check_only_partitions(self, other: tuple, method: str) -> None:
        for name, _ in self._groups():
            raise TypeError(
                f"other {other} cannot be of instance `tuple` when self {self} has {name} in "
                f"`{method}` of PartitionSpec. Make it a PartitionSpec too."
            )

    def index(self, value: Any) -> int:
        """Returns the position of the first entry equal to ``value``."""
        return self._partitions.index(value)

    def count(self, value: Any) -> int:
        """Returns the number of entries equal to ``value``."""
        return self._partitions.count(value)

    def update(
        self, *, partitions: Any = None, unreduced: Any = None, reduced: Any = None
    ) -> PartitionSpec:
        """Returns a copy of the spec with the given fields replaced."""
        return PartitionSpec(
            *(self._partitions if partitions is None else partitions),
            unreduced=self.unreduced if unreduced is None else unreduced,
            reduced=self.reduced if reduced is None else reduced,
        )

    def to_lo(self) -> list[PartitionSpec]:
        """Returns the specs of the arrays that a value consists of: for an array, this spec."""
        return [self]

    def to_tangent_spec(self) -> PartitionSpec:
        """Returns the placement of the tangents of an array with this spec."""
        return self

    def to_ct_spec(self) -> PartitionSpec:
        """Returns the placement of cotangents: the spec with unreduced and reduced axes swapped."""
        return self.update(unreduced=self.reduced, reduced=self.unreduced)


P = PartitionSpec


def _make_spec(partitions: tuple, unreduced: frozenset, reduced: frozenset) -> PartitionSpec:
    if unreduced or reduced:
        _check_axis_groups(partitions, unreduced, reduced)
    self = object.__new__(PartitionSpec)
    _set_field(self, "_partitions", partitions)
    _set_field(self, "unreduced", unreduced)
    _set_field(self, "reduced", reduced)
    return self


_intern_spec = weak_value_interner(_make_spec)


def _rebuild_spec(partitions: tuple, unreduced: frozenset, reduced: frozenset) -> PartitionSpec:
    return PartitionSpec(*partitions, unreduced=unreduced, reduced=reduced)


def _axis_set(argument: str, axes: Any) -> frozenset:
    if not isinstance(axes, (set, frozenset)):
        raise TypeError(
            f"{argument} argument of PartitionSpec should be of type `frozenset` or `set`. "
            f"Got {axes!r} of type {type(axes).__name__}."
        )
    if None in axes:
        raise ValueError(
            f"{argument} cannot contain None. All elements in {argument} should refer to the "
            "mesh axes."
        )
    return frozenset(axes)


def _check_axis_groups(partitions: tuple, unreduced: frozenset, reduced: frozenset) -> None:
    used = set()
    for entry in partitions:
        used.update(entry if isinstance(entry, tuple) else (entry,))
    for name, axes in (("unreduced", unreduced), ("reduced", reduced)):
        if used & axes:
            raise ValueError(
                f"partitions cannot overlap with {name} axes passed to PartitionSpec. "
                f"Got partitions: {partitions} and {name} axes: {axes}"
            )
    if unreduced & reduced:
        raise ValueError(
            "`unreduced` and `reduced` argument to PartitionSpec cannot overlap. "
            f"Got unreduced: {unreduced} and reduced: {reduced}"
        )


class AbstractDevice(Record):
    """Description of a mesh's devices for a compiler without access to them."""

    device_kind: str = ""
    num_cores: int | None = None
    platform: str = ""

    def __init__(self, device_kind: str, num_cores: int | None, platform: str) -> None:
        super().__init__(device_kind=device_kind, num_cores=num_cores, platform=platform)

    def __repr__(self) -> str:
        return f"AbstractDevice({self.text()})"

    def text(self) -> str:
        """The fields as text, as shown by meshes."""
        return (
            f"device_kind={self.device_kind}, num_cores={self.num_cores}, platform={self.platform}"
        )


class BaseMesh(_Frozen):
    """Named axes with sizes and types: base of meshes of devices and of abstract meshes."""

    __slots__ = ()

    @property
    def empty(self) -> bool:
        """True if the mesh has no axes."""
        return not self.axis_names

    axis_names: tuple[MeshAxisName, ...]
    axis_sizes: tuple[int, ...]
    axis_types: tuple[AxisType, ...]
    size: int

    @property
    def shape(self) -> collections.OrderedDict[MeshAxisName, int]:
        """The sizes by axis name."""
        return collections.OrderedDict(zip(self.axis_names, self.axis_sizes, strict=True))

    @property
    def shape_tuple(self) -> tuple[tuple[MeshAxisName, int], ...]:
        """Pairs of axis name and size."""
        return tuple(zip(self.axis_names, self.axis_sizes, strict=True))

    def _axes_of(self, axis_type: AxisType) -> tuple[MeshAxisName, ...]:
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return tuple(name for name, kind in pairs if kind is axis_type)

    def _all_axes_are(self, axis_type: AxisType) -> bool:
        return bool(self.axis_types) and all(kind is axis_type for kind in self.axis_types)

    @property
    def auto_axes(self) -> tuple[MeshAxisName, ...]:
        """The names of the axes of type `AxisType.Auto`."""
        return self._axes_of(AxisType.Auto)

    @property
    def explicit_axes(self) -> tuple[MeshAxisName, ...]:
        """The names of the axes of type `AxisType.Explicit`."""
        return self._axes_of(AxisType.Explicit)

    @property
    def manual_axes(self) -> tuple[MeshAxisName, ...]:
        """The names of the axes of type `AxisType.Manual`."""
        return self._axes_of(AxisType.Manual)

    @property
    def are_all_axes_auto(self) -> bool:
        """True if there are axes, all of type `AxisType.Auto`."""
        return self._all_axes_are(AxisType.Auto)

    @property
    def are_all_axes_explicit(self) -> bool:
        """True if there are axes, all of type `AxisType.Explicit`."""
        return self._all_axes_are(AxisType.Explicit)

    @property
    def are_all_axes_manual(self) -> bool:
        """True if there are axes, all of type `AxisType.Manual`."""
        return self._all_axes_are(AxisType.Manual)

    def _axes_text(self) -> str:
        axes = ", ".join(f"'{name}': {size}" for name, size in self.shape_tuple) or "()"
        return f"{axes}, axis_types={self.axis_types!r}"


@boundary_class
class AbstractMesh(BaseMesh):
    """A mesh without devices, for programs that are traced before devices are available.

    Args:
      axis_sizes: the number of devices along each axis.
      axis_names: the names of the axes.
      axis_types: an `AxisType` for each axis; `AxisType.Auto` for all axes by default.
      abstract_device: the kind of the devices, if known.

    Example:
      >>> AbstractMesh((2, 4), ("data", "model"))
      AbstractMesh('data': 2, 'model': 4, axis_types=(Auto, Auto))
    """

    __slots__ = (
        "__weakref__",
        "abstract_device",
        "axis_names",
        "axis_sizes",
        "axis_types",
        "size",
    )

    abstract_device: AbstractDevice | None
    # The C++ sharding reads this attribute. In a mesh of devices it holds the list of devices.
    _internal_device_list = None

    @api_boundary
    def __new__(
        cls,
        axis_sizes: tuple[int, ...],
        axis_names: str | tuple[MeshAxisName, ...],
        axis_types: AxisType | tuple[AxisType, ...] | None = None,
        *,
        abstract_device: AbstractDevice | None = None,
    ) -> AbstractMesh:
        axis_sizes = tuple(axis_sizes)
        axis_names = (axis_names,) if isinstance(axis_names, str) else tuple(axis_names)
        if len(axis_sizes) != len(axis_names):
            raise ValueError(
                "AbstractMesh needs as many axis sizes as axis names. "
                f"Got axis_sizes={axis_sizes} and axis_names={axis_names}"
            )
        axis_types = check_axis_types(cls.__name__, axis_names, axis_types)
        return _intern_abstract_mesh(axis_sizes, axis_names, axis_types, abstract_device)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        raise TypeError("AbstractMesh cannot be subclassed: its values are interned by content.")

    def __reduce__(self) -> tuple:
        return (
            _rebuild_abstract_mesh,
            (self.axis_sizes, self.axis_names, self.axis_types, self.abstract_device),
        )

    def __repr__(self) -> str:
        device = f", {self.abstract_device.text()}" if self.abstract_device else ""
        return f"AbstractMesh({self._axes_text()}{device})"

    @property
    def abstract_mesh(self) -> AbstractMesh:
        """The mesh itself."""
        return self

    @property
    def empty(self) -> bool:
        """True if the mesh has no axes."""
        return not self.axis_names

    def update(self, **changes: Any) -> AbstractMesh:
        """Returns the mesh with the given constructor arguments replaced."""
        fields = {
            "axis_sizes": self.axis_sizes,
            "axis_names": self.axis_names,
            "axis_types": self.axis_types,
            "abstract_device": self.abstract_device,
            **changes,
        }
        return AbstractMesh(**fields)

    def update_axis_types(self, name_to_type: Mapping[MeshAxisName, AxisType]) -> AbstractMesh:
        """Returns the mesh with the types of the axes in ``name_to_type`` replaced."""
        pairs = zip(self.axis_names, self.axis_types, strict=True)
        return self.update(axis_types=tuple(name_to_type.get(name, kind) for name, kind in pairs))

    def _without_devices(self, name: str) -> ValueError:
        return ValueError(
            f"AbstractMesh does not implement {name}: it has no devices. "
            "Use a Mesh, made from devices by make_mesh."
        )

    @property
    def devices(self) -> Any:
        """Raises ValueError, because an abstract mesh has no devices."""
        raise self._without_devices("devices")

    @property
    def device_ids(self) -> Any:
        """Raises ValueError, because an abstract mesh has no devices."""
        raise self._without_devices("device_ids")

    @property
    def is_multi_process(self) -> Any:
        """Raises ValueError, because an abstract mesh has no devices."""
        raise self._without_devices("is_multi_process")

    @property
    def local_devices(self) -> Any:
        """Raises ValueError, because an abstract mesh has no devices."""
        raise self._without_devices("local_devices")

    @property
    def local_mesh(self) -> Any:
        """Raises ValueError, because an abstract mesh has no devices."""
        raise self._without_devices("local_mesh")

    def __enter__(self) -> Any:
        raise self._without_devices("__enter__")

    def __exit__(self, *exception: object) -> Any:
        raise self._without_devices("__exit__")


def _make_abstract_mesh(
    axis_sizes: tuple, axis_names: tuple, axis_types: tuple, abstract_device: AbstractDevice | None
) -> AbstractMesh:
    self = object.__new__(AbstractMesh)
    _set_field(self, "axis_sizes", axis_sizes)
    _set_field(self, "axis_names", axis_names)
    _set_field(self, "axis_types", axis_types)
    _set_field(self, "abstract_device", abstract_device)
    _set_field(self, "size", math.prod(axis_sizes) if axis_sizes else 0)
    return self


_intern_abstract_mesh = weak_value_interner(_make_abstract_mesh)


def _rebuild_abstract_mesh(
    axis_sizes: tuple, axis_names: tuple, axis_types: tuple, abstract_device: AbstractDevice | None
) -> AbstractMesh:
    return AbstractMesh(axis_sizes, axis_names, axis_types, abstract_device=abstract_device)


def check_axis_types(
    mesh_class: str, axis_names: tuple, axis_types: AxisType | tuple[AxisType, ...] | None
) -> tuple[AxisType, ...]:
    """Checks a mesh constructor's axis types, and returns a tuple with one type for each axis."""
    if axis_types is None:
        return (AxisType.Auto,) * len(axis_names)
    if not isinstance(axis_types, tuple):
        axis_types = (axis_types,)
    if not all(isinstance(kind, AxisType) for kind in axis_types):
        raise TypeError(
            f"axis_types passed to {mesh_class} must be of type `olympus.sharding.AxisType`. "
            f"Got {axis_types} of type {tuple(map(type, axis_types))}"
        )
    if len(axis_types) != len(axis_names):
        raise ValueError(
            "Number of axis names should match the number of axis_types. "
            f"Got axis_names={axis_names} and axis_types={axis_types}"
        )
    return axis_types


empty_abstract_mesh = AbstractMesh((), ())


class _NoMesh:
    """Slot for the mesh that stands for no mesh in the parameters of calls."""

    mesh: BaseMesh = empty_abstract_mesh


no_mesh = _NoMesh()


def install_empty_mesh(mesh: BaseMesh) -> None:
    """Sets the mesh of devices that stands for no mesh in the parameters of calls."""
    no_mesh.mesh = mesh
