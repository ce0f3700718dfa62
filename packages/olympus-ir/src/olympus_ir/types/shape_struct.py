# SPDX-License-Identifier: Apache-2.0
"""`ShapeDtypeStruct`: the shape, dtype and other properties of an array without its data."""

from __future__ import annotations

import math
from typing import Any

from ..diagnostics.traceback_filtering import api_boundary
from ..settings.config_states import concrete_mesh
from . import dtypes
from .avals import ShapedArray, register_value_type
from .layouts import ManualAxisType, mesh_in_force, of_sharding
from .placement import NamedSharding, PartitionSpec, Sharding
from .references import AbstractRef

_FIELDS = ("shape", "dtype", "sharding", "weak_type", "manual_axis_type", "is_ref", "_layout")

__all__ = ["ShapeDtypeStruct"]


class ShapeDtypeStruct:
    """Shape, dtype and other static properties of an array that need not exist.

    Functions that only use types, such as `eval_shape`, `make_olympuspr` and ``jit(...).lower``,
    take it in place of an array.

    Args:
      shape: the sizes of the dimensions.
      dtype: the dtype.
      sharding: a sharding; a partition spec over the current mesh; or a format, which also
        specifies the layout in memory.
      weak_type: whether the dtype is weak in promotion.
      manual_axis_type: the variation over manual mesh axes.
      is_ref: whether the struct describes a mutable reference.

    Raises:
      TypeError: ``shape`` is not a sequence, or ``manual_axis_type`` is not a `ManualAxisType`.
      ValueError: ``dtype`` is None, or ``sharding`` is none of these.

    Example:
      >>> ShapeDtypeStruct((2, 3), "float32")
      ShapeDtypeStruct(shape=(2, 3), dtype=float32)
    """

    __slots__ = ("__weakref__", *_FIELDS)

    shape: tuple[int, ...]
    dtype: Any
    sharding: Any
    weak_type: bool
    manual_axis_type: Any
    is_ref: bool
    _layout: Any

    @api_boundary
    def __init__(
        self,
        shape: Any,
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        manual_axis_type: Any = None,
        is_ref: bool = False,
        _layout: Any = None,
    ) -> None:
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        if not hasattr(shape, "__iter__"):
            raise TypeError(
                f"ShapeDtypeStruct: `shape` must be a sequence of integers, got {shape!r}: "
                f"{type(shape).__name__!r} object is not iterable"
            )
        if manual_axis_type is not None and not isinstance(manual_axis_type, ManualAxisType):
            raise TypeError(
                "`manual_axis_type` argument passed to ShapeDtypeStruct should be of type "
                f"`olympus.sharding.ManualAxisType`. Got type {type(manual_axis_type)}"
            )
        set_field = object.__setattr__
        set_field(self, "shape", tuple(shape))
        set_field(self, "dtype", dtype if dtypes.is_extended(dtype) else dtypes.dtype(dtype))
        if isinstance(sharding, PartitionSpec):
            sharding = _over_mesh_in_force(sharding)
        elif getattr(type(sharding), "is_format", False):
            _layout = sharding.layout
            if _layout is not None and not hasattr(_layout, "major_to_minor"):
                raise TypeError(
                    "`Layout.AUTO` cannot be used in place of a device-local layout in a "
                    f"`ShapeDtypeStruct`. Got {sharding}"
                )
            sharding = sharding.sharding
        elif sharding is not None and not isinstance(sharding, Sharding):
            raise ValueError(
                "sharding should be an instance of `olympus.sharding.Sharding`, "
                "`olympus.sharding.PartitionSpec` or `olympus.experimental.layout.Format`. Got "
                f"{sharding} of type {type(sharding)}."
            )
        set_field(self, "_layout", _layout)
        set_field(self, "sharding", sharding)
        set_field(self, "weak_type", bool(weak_type))
        set_field(self, "manual_axis_type", manual_axis_type)
        set_field(self, "is_ref", bool(is_ref))

    @classmethod
    def like(cls, x: Any) -> ShapeDtypeStruct:
        """Returns a struct with the type of an array.

        Example:
          >>> import numpy as np
          >>> ShapeDtypeStruct.like(np.ones(3, np.float32))
          ShapeDtypeStruct(shape=(3,), dtype=float32)
        """
        return cls(
            x.shape,
            x.dtype,
            sharding=getattr(x, "sharding", None),
            weak_type=getattr(x, "weak_type", False),
        )

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def format(self) -> Any:
        """The layout in memory and the sharding; by default, the compiler chooses the layout."""
        if self._layout is not None:
            return self._layout._on(self.sharding)
        return getattr(self.sharding, "format", None)

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    @api_boundary
    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """Returns a copy with some properties changed.

        Example:
          >>> ShapeDtypeStruct((2,), "int32").update(shape=(4,))
          ShapeDtypeStruct(shape=(4,), dtype=int32)
        """
        unknown = sorted(set(changes) - set(_FIELDS))
        if unknown:
            raise TypeError(f"ShapeDtypeStruct has no properties {unknown}; it has {_FIELDS}")
        fields = {name: getattr(self, name) for name in _FIELDS} | changes
        if "sharding" in changes and self._layout is not None:
            if isinstance(changes["sharding"], Sharding):
                raise ValueError(
                    f"You are updating ShapeDtypeStruct with a {type(changes['sharding'])}, and it "
                    f"has the layout {self._layout}, which belongs to its sharding. Pass a Format, "
                    "or make a new ShapeDtypeStruct."
                )
            fields["_layout"] = None
        return ShapeDtypeStruct(fields.pop("shape"), fields.pop("dtype"), **fields)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in _FIELDS:
            raise RuntimeError(
                f"Cannot reassign attributes ({name}) of immutable ShapeDtypeStruct objects; use "
                f"update({name}=...)"
            )
        super().__setattr__(name, value)

    def _key(self) -> tuple:
        return tuple(getattr(self, name) for name in _FIELDS)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, ShapeDtypeStruct) and self._key() == other._key()
        )

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple:
        return (_rebuild, self._key())

    def __repr__(self) -> str:
        parts = [f"shape={self.shape}", f"dtype={dtypes.name_of(self.dtype)}"]
        if self.sharding is not None:
            parts.append(f"sharding={self.sharding}")
        if self._layout is not None:
            parts.append(f"format={self._layout}")
        if self.weak_type:
            parts.append("weak_type=True")
        if self.manual_axis_type is not None:
            parts.append(f"manual_axis_type={self.manual_axis_type}")
        if self.is_ref:
            parts.append("is_ref=True")
        return f"ShapeDtypeStruct({', '.join(parts)})"


def _over_mesh_in_force(spec: PartitionSpec) -> NamedSharding:
    mesh = concrete_mesh.value
    if mesh is None:
        mesh = mesh_in_force()
    if mesh.empty:
        raise TypeError(
            f"ShapeDtypeStruct has the PartitionSpec {spec}, and the context mesh cannot be empty. "
            "Set one with olympus.set_mesh, or use NamedSharding."
        )
    return NamedSharding(mesh, spec)


def _rebuild(
    shape: Any, dtype: Any, sharding: Any, weak: bool, manual: Any, is_ref: bool, layout: Any
) -> Any:
    return ShapeDtypeStruct(
        shape,
        dtype,
        sharding=sharding,
        weak_type=weak,
        manual_axis_type=manual,
        is_ref=is_ref,
        _layout=layout,
    )


def _aval(struct: ShapeDtypeStruct) -> ShapedArray | AbstractRef:
    dtype = dtypes.canonicalize_dtype(struct.dtype, allow_extended_dtype=True)
    layout = of_sharding(struct.sharding, len(struct.shape))
    varying = getattr(struct.manual_axis_type, "varying", frozenset())
    aval = ShapedArray.varying(
        struct.shape, dtype, bool(struct.weak_type), sharding=layout, vma=varying
    )
    return AbstractRef(aval) if struct.is_ref else aval


# Functions that are traced only for their types may use structs as values.
register_value_type(ShapeDtypeStruct, _aval)
