# SPDX-License-Identifier: Apache-2.0
"""Members of types, for libraries that define types.

A library's type is a subclass of `AbstractValue`. It overrides these members: the types of the
arrays that make up its values (`lo_ty`), the types of tangents and cotangents, and the types of
batches.
"""

from __future__ import annotations

from typing import Any, NoReturn

from .. import lax
from ..types.avals import AbstractValue, ShapedArray
from ..types.placement import NamedSharding
from ..types.references import AbstractRef
from .attaching import attach
from .mapped_types import mapped_aval, unmapped_aval

__all__: list[str] = []


def _must_define(aval: AbstractValue, name: str) -> NoReturn:
    raise TypeError(f"{type(aval).__name__} must define {name}")


# ---- all types ----


def _lo_ty(self: AbstractValue) -> list[AbstractValue]:
    """Returns the types of the arrays that make up a value."""
    return [self]


def _lo_ty_qdd(self: AbstractValue, qdd: Any) -> list[AbstractValue]:
    """Returns the types of the arrays that make up a mutable value in state ``qdd``."""
    _must_define(self, "lo_ty_qdd")


def _to_ct_aval(self: AbstractValue) -> AbstractValue:
    """Returns the type of cotangents."""
    return self.to_tangent_aval()


def _at_least_vspace(self: AbstractValue) -> AbstractValue:
    """Returns the type itself if values can be added, else the type of tangents."""
    return self.to_tangent_aval()


def _vspace_add(self: AbstractValue, x: Any, y: Any) -> Any:
    """Returns the sum of two tangents or cotangents of values of the type."""
    return lax.add_any_p.bind(x, y)


def _strip_weak_type(self: AbstractValue) -> AbstractValue:
    """Returns the type without weak type."""
    return self


def _normalize(self: Any) -> AbstractValue:
    """Returns the type without weak type, as used in keys of program caches."""
    return self.strip_weak_type()


def _update(self: AbstractValue, **changes: Any) -> AbstractValue:
    """Returns the type with some fields changed."""
    if changes:
        _must_define(self, "update")
    return self


def _update_weak_type(self: AbstractValue, weak_type: bool) -> AbstractValue:
    """Returns the type with or without weak type."""
    return self


def _update_manual_axis_type(self: AbstractValue, mat: Any) -> AbstractValue:
    """Returns the type with the given variation over manual mesh axes."""
    return self


def _dec_rank(self: AbstractValue, size: int, spec: Any) -> AbstractValue:
    """Returns the unbatched type, given the batched type."""
    if spec is not None:
        _must_define(self, "dec_rank")
    return self


def _inc_rank(self: AbstractValue, size: int, spec: Any) -> AbstractValue:
    """Returns the batched type, given the unbatched type."""
    if spec is not None:
        _must_define(self, "inc_rank")
    return self


def _lower_val_2(self: Any, hi_val: Any) -> list[Any]:
    """Returns the arrays that make up a value."""
    return self.lower_val(hi_val)


def _raise_val_2(self: Any, lo_vals: Any) -> Any:
    """Returns the value that consists of a sequence of arrays."""
    return self.raise_val(*lo_vals)


def _shard(
    self: AbstractValue, mesh: Any, manual_axes: Any, check_vma: bool, spec: Any
) -> AbstractValue:
    """Returns the type of one device's shard of a value."""
    _must_define(self, "shard")


def _unshard(self: AbstractValue, mesh: Any, check_vma: bool, spec: Any) -> AbstractValue:
    """Returns the type of a value, given the type of one device's shard."""
    _must_define(self, "unshard")


def _leading_axis_spec(self: AbstractValue) -> Any:
    """Returns the specification that maps over the first axis."""
    _must_define(self, "leading_axis_spec")


_OF_ALL: dict[str, Any] = {
    # is_high: values consist of several arrays. has_qdd: values are mutable, with a type state.
    "is_high": False,
    "has_qdd": False,
    "at_least_vspace": _at_least_vspace,
    "dec_rank": _dec_rank,
    "inc_rank": _inc_rank,
    "leading_axis_spec": _leading_axis_spec,
    "lo_ty": _lo_ty,
    "lo_ty_qdd": _lo_ty_qdd,
    "lower_val2": _lower_val_2,
    "raise_val2": _raise_val_2,
    "shard": _shard,
    "unshard": _unshard,
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
    """Returns a list of the array ``val`` alone, because an array needs no lowering."""
    return [val]


def _raise_val(self: ShapedArray, val: Any) -> Any:
    """Returns the array ``val`` unchanged, because an array needs no lowering."""
    return val


def _array_dec_rank(self: ShapedArray, size: int, spec: int | None) -> ShapedArray:
    """Returns the unbatched type, given the batched type."""
    return mapped_aval(size, spec, self)  # type: ignore[return-value]


def _array_inc_rank(self: ShapedArray, size: int, spec: int | None) -> ShapedArray:
    """Returns the batched type, given the unbatched type."""
    return unmapped_aval(size, spec, self)  # type: ignore[return-value]


def _array_update_manual_axis_type(self: ShapedArray, mat: Any) -> ShapedArray:
    """Returns the type with the given variation over manual mesh axes."""
    now = self.manual_axis_type
    if (mat.unreduced, mat.reduced) == (now.unreduced, now.reduced):
        return self.update(vma=frozenset(mat.varying))
    if self.layout is None:
        raise TypeError(
            f"{self} is laid out over no mesh, so it has no mesh axes to be unreduced or reduced "
            "over"
        )
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


# ---- types of references ----

_OF_REFS: dict[str, Any] = {
    "lower_val": lambda self, ref: [ref],
    "raise_val": lambda self, ref: ref,
    "manual_axis_type": property(lambda self: self.inner_aval.manual_axis_type),
    "mat": property(lambda self: self.inner_aval.manual_axis_type),
}

attach(AbstractRef, **_OF_REFS)
attach(AbstractValue, **_OF_ALL)
attach(ShapedArray, **_OF_ARRAYS)
