# SPDX-License-Identifier: Apache-2.0
"""Members of types, for libraries that define types.

A library's type, a subclass of `AbstractValue`, overrides what holds for types of arrays: which
types its values are made of (`lo_ty`), what tangents and cotangents are, how examples are mapped.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .. import lax
from ..types.avals import AbstractValue, ShapedArray
from ..types.placement import NamedSharding
from .attaching import attach
from .mapped_types import mapped_aval, unmapped_aval

__all__: list[str] = []


def _must_define(aval: AbstractValue, name: str) -> NoReturn:
    raise TypeError(f"{type(aval).__name__} must define {name}")


# ---- all types ----


def _lo_ty(self: AbstractValue) -> list[AbstractValue]:
    """The types of the arrays that a value is made of."""
    return [self]


def _lo_ty_qdd(self: AbstractValue, qdd: Any) -> list[AbstractValue]:
    """The types of the arrays that a value that changes is made of now."""
    _must_define(self, "lo_ty_qdd")


def _to_ct_aval(self: AbstractValue) -> AbstractValue:
    """The type of cotangents."""
    return self.to_tangent_aval()


def _at_least_vspace(self: AbstractValue) -> AbstractValue:
    """The type itself where values can be added, else that of tangents."""
    return self.to_tangent_aval()


def _vspace_add(self: AbstractValue, x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents of values of the type."""
    return lax.add_any_p.bind(x, y)


def _strip_weak_type(self: AbstractValue) -> AbstractValue:
    """The type with a dtype that does not give way."""
    return self


def _normalize(self: Any) -> AbstractValue:
    """The type by which programs are kept: without what does not tell apart."""
    return self.strip_weak_type()


def _update(self: AbstractValue, **changes: Any) -> AbstractValue:
    """The type with some fields changed."""
    if changes:
        _must_define(self, "update")
    return self


def _update_weak_type(self: AbstractValue, weak_type: bool) -> AbstractValue:
    """The type with a dtype that gives way, or does not."""
    return self


def _update_manual_axis_type(self: AbstractValue, mat: Any) -> AbstractValue:
    """The type of values that vary otherwise over the manual axes of a mesh."""
    return self


def _dec_rank(self: AbstractValue, size: int, spec: Any) -> AbstractValue:
    """The type of one example, given that of all."""
    if spec is not None:
        _must_define(self, "dec_rank")
    return self


def _inc_rank(self: AbstractValue, size: int, spec: Any) -> AbstractValue:
    """The type of all examples, given that of one."""
    if spec is not None:
        _must_define(self, "inc_rank")
    return self


def _leading_axis_spec(self: AbstractValue) -> Any:
    """The specification of examples along the first axis."""
    _must_define(self, "leading_axis_spec")


_OF_ALL: dict[str, Any] = {
    # Whether values are made of others that are arrays, and whether their types change.
    "is_high": False,
    "has_qdd": False,
    "at_least_vspace": _at_least_vspace,
    "dec_rank": _dec_rank,
    "inc_rank": _inc_rank,
    "leading_axis_spec": _leading_axis_spec,
    "lo_ty": _lo_ty,
    "lo_ty_qdd": _lo_ty_qdd,
    "normalize": _normalize,
    "strip_weak_type": _strip_weak_type,
    "to_ct_aval": _to_ct_aval,
    "update": _update,
    "update_manual_axis_type": _update_manual_axis_type,
    "update_weak_type": _update_weak_type,
    "vspace_add": _vspace_add,
}


# ---- types of arrays ----


def _lower_val(self: ShapedArray, val: Any) -> list[Any]:
    """The arrays that a value is made of: the array itself."""
    return [val]


def _raise_val(self: ShapedArray, val: Any) -> Any:
    """The value that arrays make: the array itself."""
    return val


def _array_dec_rank(self: ShapedArray, size: int, spec: int | None) -> ShapedArray:
    """The type of one example, given that of all."""
    return mapped_aval(size, spec, self)  # type: ignore[return-value]


def _array_inc_rank(self: ShapedArray, size: int, spec: int | None) -> ShapedArray:
    """The type of all examples, given that of one."""
    return unmapped_aval(size, spec, self)  # type: ignore[return-value]


def _array_update_manual_axis_type(self: ShapedArray, mat: Any) -> ShapedArray:
    """The type of values that vary otherwise over the manual axes of a mesh."""
    now = self.manual_axis_type
    if (mat.unreduced, mat.reduced) == (now.unreduced, now.reduced):
        return self.update(vma=frozenset(mat.varying))
    if self.layout is None:
        raise TypeError(f"{self} is laid out over no mesh, so that nothing can be summed over one")
    spec = self.layout.spec.update(unreduced=mat.unreduced, reduced=mat.reduced)
    sharding = NamedSharding(self.layout.mesh, spec)
    return self.update(vma=frozenset(mat.varying), sharding=sharding)


_OF_ARRAYS: dict[str, Any] = {
    "array_abstraction_level": 2,
    "dec_rank": _array_dec_rank,
    "inc_rank": _array_inc_rank,
    "leading_axis_spec": lambda self: 0,
    "lower_val": _lower_val,
    "raise_val": _raise_val,
    "update_manual_axis_type": _array_update_manual_axis_type,
    "update_weak_type": lambda self, weak_type: self.update(weak_type=weak_type),
}

attach(AbstractValue, **_OF_ALL)
attach(ShapedArray, **_OF_ARRAYS)
