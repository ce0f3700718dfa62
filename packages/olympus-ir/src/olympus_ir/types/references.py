# SPDX-License-Identifier: Apache-2.0
"""Types of references, and the check that a function receives no reference twice."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from .avals import AbstractValue, ShapedArray, get_aval, typematch
from .memory_spaces import MemorySpace

if TYPE_CHECKING:
    from ..diagnostics.debug_info import DebugInfo

_interned: dict[tuple, weakref.ref] = {}
_interning_lock = threading.Lock()


class AbstractRef(AbstractValue):
    """The type of a mutable reference to an array.

    Like types of arrays, types of references are interned: equal types are the same object.

    Args:
      inner_aval: the type of the array that the reference holds.
      memory_space: the memory space of the array; None for the default of the device.
      kind: the purpose of the reference, if an interpreter needs to know it.

    Example:
      >>> AbstractRef(ShapedArray((4,), "float32"))
      Ref{float32[4]}
    """

    __slots__ = ("__weakref__", "inner_aval", "kind", "memory_space")

    is_ref = True
    inner_aval: Any
    memory_space: Any
    kind: Any

    def __new__(cls, inner_aval: Any, memory_space: Any = None, kind: Any = None) -> AbstractRef:
        key = (cls, inner_aval, memory_space, kind)
        with _interning_lock:
            reference = _interned.get(key)
            self = reference() if reference is not None else None
            if self is None:
                self = object.__new__(cls)
                object.__setattr__(self, "inner_aval", inner_aval)
                object.__setattr__(self, "memory_space", memory_space)
                object.__setattr__(self, "kind", kind)
                _interned[key] = weakref.ref(self, lambda ref: _forget(key, ref))
            return self

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"abstract values are immutable: cannot set {name!r} of {self}")

    def __reduce__(self) -> tuple:
        return (type(self), (self.inner_aval, self.memory_space, self.kind))

    # ---- properties of the array's type ----

    @property
    def shape(self) -> tuple[int, ...]:
        return self.inner_aval.shape

    @property
    def dtype(self) -> Any:
        return self.inner_aval.dtype

    @property
    def ndim(self) -> int:
        return len(self.inner_aval.shape)

    @property
    def size(self) -> int:
        return self.inner_aval.size

    @property
    def sharding(self) -> Any:
        return self.inner_aval.sharding

    @property
    def vma(self) -> frozenset:
        return self.inner_aval.vma

    @property
    def weak_type(self) -> bool:
        return self.inner_aval.weak_type

    def __len__(self) -> int:
        return len(self.inner_aval)

    # ---- derived types ----

    def update(
        self, inner_aval: Any = None, memory_space: Any = None, kind: Any = None
    ) -> AbstractRef:
        """Returns the type with some fields changed."""
        return type(self)(
            self.inner_aval if inner_aval is None else inner_aval,
            self.memory_space if memory_space is None else memory_space,
            self.kind if kind is None else kind,
        )

    def strip_weak_type(self) -> AbstractRef:
        """Returns the type without weak type."""
        return self.update(inner_aval=self.inner_aval.strip_weak_type())

    def update_weak_type(self, weak_type: bool) -> AbstractRef:
        """Returns the type with or without weak type."""
        return self.update(inner_aval=self.inner_aval.update(weak_type=weak_type))

    def to_tangent_aval(self) -> AbstractRef:
        """Returns the type of references to tangents."""
        return self.update(inner_aval=self.inner_aval.to_tangent_aval())

    def matches(self, other: AbstractValue) -> bool:
        return (
            isinstance(other, AbstractRef)
            and self.memory_space == other.memory_space
            and typematch(self.inner_aval, other.inner_aval)
        )

    def str_short(self, short_dtypes: bool = False) -> str:
        """Returns a short text of the type, such as ``Ref{float32[4]}``."""
        space = self.memory_space
        if isinstance(space, MemorySpace):
            space = f"MemorySpace.{space.name}"
        space = "" if space is None else f"<{space}>"
        return f"Ref{space}{{{self.inner_aval.str_short(short_dtypes)}}}"

    def __repr__(self) -> str:
        return self.str_short()


def _forget(key: tuple, reference: weakref.ref) -> None:
    # A new type may have taken the key after the old type was deleted.
    if _interned.get(key) is reference:
        _interned.pop(key, None)


def is_ref_aval(aval: Any) -> bool:
    """Returns whether a type is a reference type."""
    return isinstance(aval, AbstractRef)


def inner_aval(aval: Any) -> Any:
    """Returns the array type of a reference type, and other types unchanged."""
    return aval.inner_aval if isinstance(aval, AbstractRef) else aval


def any_ref(avals: Iterable[Any]) -> bool:
    """Returns whether one of the types is a reference type."""
    return any(isinstance(aval, AbstractRef) for aval in avals)


def array_of_ref(aval: Any) -> ShapedArray:
    """Returns the type of the whole array of a reference.

    Raises:
      ValueError: the type is not a reference type.
    """
    if not isinstance(aval, AbstractRef):
        raise ValueError(f"expected a reference, got a value of type {aval.str_short()}")
    return aval.inner_aval


# ---- identity of references ----


def referent(value: Any) -> Any:
    """Returns the object that identifies a reference, which its tracers and views share."""
    while True:
        inside = getattr(value, "referent", None)
        if inside is None:
            return value
        value = inside


def check_aliases(info: DebugInfo, closed_over: Sequence[Any], operands: Sequence[Any]) -> None:
    """Checks that closed-over values and arguments contain no reference twice.

    Args:
      info: the debug information of the function.
      closed_over: the values that the function closes over.
      operands: the function's flat arguments.

    Raises:
      ValueError: a reference occurs twice; the message names the arguments.
    """
    positions: dict[int, int] = {}
    for position, value in enumerate((*closed_over, *operands)):
        aval = get_aval(value)
        if not aval.is_ref:
            continue
        first = positions.setdefault(id(referent(value)), position)
        if first != position:
            _raise_alias(info, aval, first - len(closed_over), position - len(closed_over))


def _raise_alias(info: DebugInfo, aval: Any, first: int, second: int) -> None:
    names = info.arg_names or ()

    def name(position: int) -> str:
        return names[position] if position < len(names) else f"argument {position}"

    if first < 0:
        raise ValueError(
            f"when tracing {info.func_src_info} for {info.traced_for}, a mutable array reference "
            f"of type {aval.str_short()} was both closed over and passed as the argument "
            f"{name(second)}. Use one of the two."
        )
    raise ValueError(
        "only one reference to a mutable array may be passed as an argument to a function, but "
        f"when tracing {info.func_src_info} for {info.traced_for} the mutable array reference of "
        f"type {aval.str_short()} appeared at both {name(first)} and {name(second)}."
    )
