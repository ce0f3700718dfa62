# SPDX-License-Identifier: Apache-2.0
"""High types, which users define, and primitives that expand to other operations.

A `HiPrimitive` defines its types, expansion, derivative and transpose by methods instead of rules
in tables. Values of types that `register_hitype` registers can be its operands, and arguments and
results of compiled functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir.diagnostics.errors import NotAnArrayError
from olympus_ir.expansions import high_types
from olympus_ir.programs import expansion, mutable_types
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types import known_types
from olympus_ir.types.avals import (
    AbstractValue,
    aval_method,
    aval_property,
    register_value_type,
)
from olympus_ir.types.known_types import AvalMutableQDD as AvalMutableQDD

from ..tables import jvp_rules, transpose_rules

__all__ = [
    "AvalMutableQDD",
    "AvalQDD",
    "HiPrimitive",
    "HiPspec",
    "HiType",
    "MutableHiType",
    "aval_method",
    "aval_property",
    "register_hitype",
]


class HiType(AbstractValue):
    """Base of high types, whose values consist of several arrays.

    A subclass defines `lo_ty`, which returns the types of the arrays; `lower_val`, which converts a
    value to these arrays; and `raise_val`, which converts the arrays to a value.
    """

    is_high = True
    has_qdd = False

    def __getattr__(self, name: str) -> Any:
        """Raises an error that is also a TypeError: functions of arrays do not take the values."""
        if name.startswith("__"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        raise NotAnArrayError(self, name)

    def lo_ty(self) -> list[AbstractValue]:
        """Returns the types of the arrays."""
        raise TypeError(f"{type(self).__name__} must define lo_ty")

    def lower_val(self, hi_val: Any) -> list[Any]:
        """Returns the arrays of a value."""
        raise TypeError(f"{type(self).__name__} must define lower_val")

    def raise_val(self, *lo_vals: Any) -> Any:
        """Returns the value that consists of the given arrays."""
        raise TypeError(f"{type(self).__name__} must define raise_val")

    def lower_val2(self, hi_val: Any) -> Any:
        """Returns the arrays of a value; another name of `lower_val`."""
        return self.lower_val(hi_val)

    def raise_val2(self, lo_vals_ft: Any) -> Any:
        """Returns the value made from a sequence of arrays; see `raise_val`."""
        return self.raise_val(*lo_vals_ft)

    def to_tangent_aval(self) -> AbstractValue:
        """Returns the type of tangents."""
        raise TypeError(f"{type(self).__name__} must define to_tangent_aval")

    def vspace_zero(self) -> Any:
        """Returns the zero of the type's vector space."""
        raise TypeError(f"{type(self).__name__} must define vspace_zero")

    def shard(self, mesh: Any, manual_axes: Any, check_vma: bool, spec: Any) -> AbstractValue:
        """Returns the type of one device's shard of a value."""
        raise TypeError(f"{type(self).__name__} must define shard")

    def unshard(self, mesh: Any, check_vma: bool, spec: Any) -> AbstractValue:
        """Returns the type of a value, given the type of one device's shard."""
        raise TypeError(f"{type(self).__name__} must define unshard")

    def nospec(self, mesh: Any, check_vma: bool, all_names: tuple) -> Any:
        """Returns a specification for values that users did not specify, such as residuals."""
        raise TypeError(f"{type(self).__name__} must define nospec")


class MutableHiType(HiType):
    """Base of types of mutable values. The arrays' types may depend on a value's state."""

    has_qdd = True
    # Whether operations of the type write to its values.
    is_writer = False

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        known_types.use_mutable_types()

    def type_state(self, value: Any) -> Any:
        """Returns the current state of a value that has no method ``cur_qdd``."""
        raise TypeError(f"{type(self).__name__} must define type_state")

    def lo_ty_qdd(self, state: Any, /) -> list[AbstractValue]:
        """Returns the types of the arrays of a value in state ``state``."""
        raise TypeError(f"{type(self).__name__} must define lo_ty_qdd")

    def new_from_loval(self, state: Any, /, *vals: Any) -> Any:
        """Returns a new value that consists of the given arrays."""
        raise TypeError(f"{type(self).__name__} must define new_from_loval")

    def read_loval(self, state: Any, val: Any, /) -> list[Any]:
        """Returns the arrays of a value."""
        raise TypeError(f"{type(self).__name__} must define read_loval")

    def update_from_loval(self, state: Any, val: Any, /, *lo_vals: Any) -> None:
        """Replaces the arrays of a value."""
        raise TypeError(f"{type(self).__name__} must define update_from_loval")

    def read_loval_in(self, state: Any, val: Any, /) -> list[Any]:
        """Returns the arrays of an operand; see `read_loval`."""
        return self.read_loval(state, val)

    def read_loval_out(self, qdd: Any, hi: Any, /) -> list[Any]:
        """Returns the arrays of a result; see `read_loval`."""
        return self.read_loval(qdd, hi)

    def update_from_loval2(self, state: Any, val: Any, lo_vals_ft: Any, /) -> None:
        """Replaces the arrays of a value by a sequence of arrays; see `update_from_loval`."""
        self.update_from_loval(state, val, *lo_vals_ft)


class HiPspec:
    """Base of the partition specs of values of a high type."""

    def to_lo(self) -> Any:
        """Returns the partition specs of the arrays of which a value consists."""
        raise TypeError(f"{type(self).__name__} must define to_lo")

    def to_tangent_spec(self) -> HiPspec:
        """Returns the partition spec of tangents."""
        return self

    def to_ct_spec(self) -> HiPspec:
        """Returns the partition spec of cotangents."""
        return self


class AvalQDD(NamedTuple):
    """The type of a mutable value together with the value's state at one time."""

    aval: Any
    qdd: Any

    has_qdd = True
    is_high = True

    @property
    def is_writer(self) -> bool:
        """Returns whether operations of the type write to its values."""
        return getattr(self.aval, "is_writer", False)

    def lo_ty(self) -> list[AbstractValue]:
        """Returns the types of the arrays of a value in this state."""
        return self.aval.lo_ty_qdd(self.qdd)

    def new_from_loval(self, *lovals: Any) -> Any:
        """Returns a new value that consists of the given arrays."""
        return self.aval.new_from_loval(self.qdd, *lovals)

    def read_loval(self, val: Any) -> list[Any]:
        """Returns the arrays of a value."""
        return self.aval.read_loval(self.qdd, val)

    def read_loval_in(self, val: Any) -> list[Any]:
        """Returns the arrays of a value that is an operand."""
        return self.aval.read_loval_in(self.qdd, val)

    def read_loval_out(self, val: Any) -> list[Any]:
        """Returns the arrays of a value that is a result."""
        return self.aval.read_loval_out(self.qdd, val)

    def to_tangent_aval(self) -> AbstractValue:
        """Returns the type of tangents."""
        return self.aval.to_tangent_aval()


def register_hitype(val_cls: type, typeof_fn: Callable[[Any], AbstractValue]) -> None:
    """Registers a class whose values have a high type.

    Args:
      val_cls: the class.
      typeof_fn: returns the high type of a value.
    """
    high_types.use_high_types()
    register_value_type(val_cls, typeof_fn)


class HiPrimitive(Primitive):
    """A primitive whose rules are its methods.

    A subclass defines `abstract_eval` and `to_lojax`, and for derivatives `jvp` and `transpose`.

    Args:
      name: the name in printed programs.

    Example:
      >>> from olympus_ir import lax
      >>> class Double(HiPrimitive):
      ...     def abstract_eval(self, aval):
      ...         return aval, set()
      ...     def to_lojax(self, x):
      ...         return lax.add(x, x)
      >>> float(Double("double").bind(2.0))
      4.0
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._configure(self.multiple_results, family="", cache_inference=False)
        self.def_effectful_abstract_eval(self.abstract_eval)
        expansion.expansion_rules[self] = self.to_lojax
        cls = type(self)
        self.def_impl((cls.to_lojax if cls.impl is Primitive.impl else cls.impl).__get__(self))
        jvp_rules[self] = self.jvp
        transpose_rules[self] = self.transpose

    def bind(self, *args: Any, **params: Any) -> Any:
        """Applies the primitive under the current interpreter."""
        if known_types.mutable:
            result = mutable_types.apply(self, args, params)
            if result is not NotImplemented:
                return result
        return super().bind(*args, **params)

    def is_high(self, *avals: Any, **params: Any) -> bool:
        """Returns True: these primitives are always expanded."""
        return True

    def abstract_eval(self, *avals: Any, **params: Any) -> Any:
        """Returns the results' types, and the set of effects."""
        raise TypeError(f"the primitive {self.name} must define abstract_eval")

    def to_lojax(self, *operands: Any, **params: Any) -> Any:
        """Expands the primitive: computes its results by other operations."""
        raise TypeError(f"the primitive {self.name} must define to_lojax")

    def jvp(self, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        """Returns the results and their tangents."""
        raise TypeError(f"the primitive {self.name} must define jvp to be differentiated")

    def transpose(self, cotangents: Any, *operands: Any, **params: Any) -> Any:
        """Returns the operands' cotangents."""
        raise TypeError(f"the primitive {self.name} must define transpose to be transposed")
