# SPDX-License-Identifier: Apache-2.0
"""Symbolic zeros: tangents and cotangents that are known to vanish and are never computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.values import as_array
from olympus_ir.programs.tracing import current, evaluation_trace, set_current_trace
from olympus_ir.settings.config_states import enable_x64
from olympus_ir.types import dtypes, known_types
from olympus_ir.types.avals import AbstractValue, get_aval
from olympus_ir.types.layouts import layout_over, mesh_in_force
from olympus_ir.types.placement import NamedSharding, PartitionSpec
from olympus_ir.types.resharding import bind_reshard

__all__ = [
    "SymbolicZero",
    "UndefinedPrimal",
    "Zero",
    "add_tangents",
    "as_factor",
    "as_result",
    "aval_of",
    "cotangent_sharding",
    "explicit_layout",
    "float0_zeros",
    "has_tangents",
    "instantiate",
    "is_undefined_primal",
    "laid_out_as",
    "ones_like_aval",
    "scalar",
    "whole",
    "zeros_like_aval",
]

# `get_aval` for arrays: type checkers accept `shape` and `dtype` of the returned type.
aval_of: Callable[[Any], Any] = get_aval


class Zero:
    """Symbolic zero tangent or cotangent of a type, which needs no memory and no arithmetic.

    Args:
      aval: the type of the tangent.

    Example:
      >>> from olympus_ir import ShapedArray
      >>> Zero(ShapedArray((3,), np.float32))
      Zero(float32[3])
    """

    __slots__ = ("_aval", "_primal")

    def __init__(self, aval: AbstractValue) -> None:
        self._aval: AbstractValue | None = aval

    def instantiate(self) -> Any:
        """Returns the zero as an array."""
        return instantiate(self)

    @classmethod
    def of(cls, primal: Any) -> Zero:
        """Returns the zero tangent of a value. The tangent's type is computed on first use."""
        self = cls.__new__(cls)
        self._aval = None
        self._primal = primal
        return self

    @property
    def aval(self) -> Any:
        aval = self._aval
        if aval is None:
            aval = self._aval = aval_of(self._primal).to_tangent_aval()
            del self._primal
        return aval

    def __repr__(self) -> str:
        return f"Zero({self.aval})"


class SymbolicZero:
    """A zero tangent or cotangent, as passed to custom rules with ``symbolic_zeros=True``.

    A symbolic zero has a type and no value: ``shape``, ``dtype`` and ``aval`` can be read.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    @staticmethod
    def from_primal_value(val: Any) -> SymbolicZero:
        """Returns the zero tangent of a value."""
        return SymbolicZero(aval_of(val).to_tangent_aval())

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def ndim(self) -> int:
        return self.aval.ndim

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


class UndefinedPrimal:
    """Placeholder for an operand whose cotangent a transpose rule computes.

    Args:
      aval: the operand's type.
    """

    __slots__ = ("aval",)

    def __init__(self, aval: AbstractValue) -> None:
        self.aval: Any = aval

    def __repr__(self) -> str:
        return f"UndefinedPrimal({self.aval})"


def is_undefined_primal(x: Any) -> bool:
    """Returns whether a transpose rule must compute the cotangent of an operand."""
    return x.__class__ is UndefinedPrimal


def has_tangents(dtype: Any) -> bool:
    """Returns whether values of a dtype can have nonzero tangents."""
    return dtypes.tangent_dtype(dtype) != dtypes.float0


def can_move(aval: Any) -> bool:
    """Returns whether values of a type can have nonzero tangents."""
    return known_types.is_high(aval) or has_tangents(aval.dtype)


def float0_zeros(shape: Sequence[int]) -> np.ndarray:
    """Returns the tangent of an integer array: zeros of dtype ``float0``."""
    return np.zeros(shape, dtypes.float0)


_scalars: dict[tuple[Any, Any], np.ndarray] = {}


def scalar(value: Any, dtype: Any) -> Any:
    """Returns a constant array of shape (), which programs print as a literal."""
    key = (value, dtype)
    array = _scalars.get(key)
    if array is None:
        array = np.asarray(value).astype(dtype)
        array.flags.writeable = False
        _scalars[key] = array
    return array


def _full(aval: Any, value: int) -> Any:
    dtype = aval.dtype
    if dtype == dtypes.float0:
        return float0_zeros(aval.shape)
    if dtypes.is_extended(dtype):
        return lax.broadcast(_extended_rules(dtype, "zero")(dtype), aval.shape)
    if dtype in dtypes.half_width and not enable_x64.value:
        # The primal was computed with 64-bit types enabled.
        with enable_x64(True):
            return lax.full(aval.shape, value, dtype)
    if aval.weak_type and not aval.shape:
        kind = dtypes.scalar_type_of(dtype)
        if kind is not bool and dtypes.python_scalar_dtype(kind) == dtype:
            return kind(value)  # Python scalars are weakly typed.
    constant = scalar(value, dtype)
    if not aval.shape and not aval.vma:
        return constant
    return lax.broadcast_in_dim(constant, aval.shape, (), out_sharding=explicit_layout(aval))


def zeros_like_aval(aval: Any) -> Any:
    """Returns an array of zeros of the given type."""
    if known_types.is_high(aval):
        # The value must not contain tracers, so it is evaluated immediately.
        with set_current_trace(evaluation_trace):
            return aval.vspace_zero()
    return _full(aval, 0)


def ones_like_aval(aval: Any) -> Any:
    """Returns an array of ones of the given type."""
    return _full(aval, 1)


def instantiate(tangent: Any) -> Any:
    """Returns the tangent as an array."""
    return zeros_like_aval(tangent.aval) if tangent.__class__ is Zero else tangent


def as_operand(tangent: Any) -> Any:
    """Returns the tangent as an array for a user's rule, even if it is zero or a number."""
    if tangent.__class__ is Zero:
        tangent = zeros_like_aval(tangent.aval)
    if tangent.__class__ is np.ndarray and tangent.dtype == dtypes.float0:
        return tangent
    if known_types.high and known_types.is_high(aval_of(tangent)):
        return tangent
    return as_array(tangent)


def as_result(tangent: Any, operands: Sequence[Any] = ()) -> Any:
    """Returns the tangent as an array for the user, even if it is zero.

    Numbers are returned unchanged: they are constants that a user's rule returned, or tangents that
    the user passed. Other tangents that the user passed, such as NumPy arrays, are in ``operands``
    and are also returned unchanged.
    """
    if isinstance(tangent, float | complex | np.generic):
        return tangent
    result = as_operand(tangent)
    # `as_operand` returns arrays unchanged. Searching ``given`` for each of them would take
    # quadratic time.
    if result is not tangent and any(tangent is value for value in operands):
        return tangent
    return result


# ---- layouts over explicit axes of a mesh ----


def explicit_layout(aval: Any) -> Any:
    """Returns the layout of a type over explicit mesh axes, as a parameter for operations."""
    layout = aval.layout
    if layout is None or not layout.mesh.manual_axes:
        return layout
    explicit, spec = frozenset(layout.mesh.explicit_axes), layout.spec
    return layout_over(
        layout.mesh, spec.partitions, spec.unreduced & explicit, spec.reduced & explicit
    )


def cotangent_sharding(cotangent: Any, aval: Any) -> Any:
    """Returns the sharding to request for the result of pulling a cotangent back.

    Returns None if no mesh is involved.

    Args:
      cotangent: the cotangent that is pulled back.
      aval: the type of the value whose cotangent is computed.
    """
    cotangent_layout = aval_of(cotangent).layout
    if cotangent_layout is None and aval.layout is None:
        return None
    return explicit_layout(aval.to_ct_aval()) or whole(cotangent_layout or aval.layout, aval.ndim)


def whole(layout: Any, ndim: int) -> Any:
    """Returns the replicated sharding over the mesh of a layout."""
    return NamedSharding(layout.mesh, PartitionSpec(*(None,) * ndim))


def laid_out_as(value: Any, aval: Any) -> Any:
    """Returns a tangent or cotangent, resharded to the layout of a type."""
    value_layout = explicit_layout(aval_of(value))
    layout = explicit_layout(aval)
    if value_layout is layout:
        return value
    if value_layout is None and current.trace is evaluation_trace and mesh_in_force().empty:
        # The devices are unknown, but a replicated value can be combined with any other value.
        return value
    return bind_reshard(value, whole(value_layout, aval.ndim) if layout is None else layout)


def as_factor(value: Any, cotangent: Any) -> Any:
    """Casts a scalar factor to be reduced over the axes over which the cotangent is unreduced."""
    layout = aval_of(cotangent).layout
    if layout is None or not layout.spec.unreduced:
        return value
    aval = aval_of(value)
    if aval.ndim or aval.layout is not None:
        return value
    reduced = explicit_layout(aval_of(cotangent)).spec.unreduced
    return bind_reshard(value, NamedSharding(layout.mesh, PartitionSpec(reduced=reduced)))


def add_tangents(x: Any, y: Any) -> Any:
    """Returns the sum of two tangents or cotangents; either may be a symbolic zero."""
    if x.__class__ is Zero:
        return y
    if y.__class__ is Zero:
        return x
    if known_types.high:
        aval = aval_of(x)
        if known_types.is_high(aval):
            return aval.vspace_add(x, y)
    if known_types.summed_by_rule:
        dtype = aval_of(x).dtype
        if dtypes.is_extended(dtype):
            return _extended_rules(dtype, "add")(dtype, x, y)
    return lax.add_any_p.bind(x, y)


def _extended_rules(dtype: Any, name: str) -> Callable[..., Any]:
    """Returns one of the functions that an extended dtype defines for its values.

    Raises:
      TypeError: the dtype does not define the function.
    """
    rule = getattr(getattr(dtype, "_rules", None), name, None)
    if rule is None:
        raise TypeError(
            f"the extended dtype {dtype.name} has its own type of tangents, but does not define "
            f"`_rules.{name}`, which adds or creates them"
        )
    return rule
