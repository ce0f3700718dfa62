# SPDX-License-Identifier: Apache-2.0
"""Variables of traced control flow, their values, and the common types of these values.

The value of a variable is a pytree. A leaf is an array, a number or a constant. A traced condition
can select arrays and numbers. Any other object is a constant. A constant must be the same after
both blocks of a conditional, and before and after each iteration of a loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ..lax.elementwise.conversion import convert_dtype
from ..trees import pytrees
from ..types import dtypes
from ..types.avals import ShapedArray, get_aval, is_valid_value
from ..types.promotion import promote

_NUMBERS = (bool, int, float, complex)


class Undefined:
    """Value of a variable before its first assignment. Every use of it raises UnboundLocalError.

    Args:
      name: the name of the variable.
      reason: a sentence that says why the variable has no value.
    """

    __slots__ = ("_name", "_reason")

    def __init__(self, name: str, reason: str = "") -> None:
        self._name = name
        self._reason = reason

    def refuse(self, *_args: Any, **_kwargs: Any) -> NoReturn:
        """Raises UnboundLocalError, which names the variable."""
        reason = self._reason or "it is referenced before its assignment."
        raise UnboundLocalError(f"The variable `{self._name}` has no value: {reason}")

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__") and attribute.endswith("__"):
            raise AttributeError(attribute)  # Python's protocols look up special names
        self.refuse()

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = refuse
    __rtruediv__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = __pow__ = __rpow__ = refuse
    __matmul__ = __rmatmul__ = __and__ = __rand__ = __or__ = __ror__ = __xor__ = __rxor__ = refuse
    __lt__ = __le__ = __gt__ = __ge__ = __neg__ = __pos__ = __abs__ = __invert__ = refuse
    __call__ = __getitem__ = __iter__ = __len__ = __bool__ = __index__ = __float__ = refuse
    __int__ = __eq__ = __ne__ = refuse  # type: ignore[assignment]
    __hash__ = object.__hash__


class _NotReturned:
    """Result of a function that has not returned. No statement reads it."""

    def __repr__(self) -> str:
        return "<not returned>"


NOT_RETURNED = _NotReturned()


class Value(NamedTuple):
    """Value of one variable, flattened to a structure and leaves.

    Attributes:
      tree: the structure.
      leaves: the leaves.
    """

    tree: Any
    leaves: list[Any]

    @property
    def is_undefined(self) -> bool:
        return len(self.leaves) == 1 and isinstance(self.leaves[0], Undefined)

    @property
    def is_not_returned(self) -> bool:
        return len(self.leaves) == 1 and self.leaves[0] is NOT_RETURNED

    def unflattened(self) -> Any:
        return pytrees.tree_unflatten(self.tree, self.leaves)


def flattened(value: Any) -> Value:
    """Splits a variable's value into its structure and leaves."""
    leaves, tree = pytrees.tree_flatten(value)
    return Value(tree, leaves)


def copied(values: Sequence[Any]) -> list[Any]:
    """Returns the values in new containers, because a block may change containers."""
    return [flattened(value).unflattened() for value in values]


def is_array(leaf: Any) -> bool:
    """Returns whether a leaf is an array, not a Python number or another object."""
    return leaf.__class__ not in _NUMBERS and is_valid_value(leaf)


def is_number(leaf: Any) -> bool:
    """Returns whether a leaf is an array or a number, which a traced condition can select."""
    return isinstance(leaf, _NUMBERS) or is_array(leaf)


def same_constant(first: Any, second: Any) -> bool:
    """Returns whether two leaves are the same known constant."""
    if first is second:
        return True
    if is_array(first) or is_array(second) or first.__class__ is not second.__class__:
        return False
    try:
        return bool(first == second)
    except Exception:  # a user's object may fail to compare
        return False


def joined_type(leaf: Any, other: Any) -> Any:
    """Returns the common type to which two leaves are converted; None if there is none.

    Args:
      leaf: an array, a number or an abstract value.
      other: an array, a number or an abstract value.
    """
    first, second = type_of(leaf), type_of(other)
    if first == second:
        return first
    if not (isinstance(first, ShapedArray) and isinstance(second, ShapedArray)):
        return None
    if first.shape != second.shape:
        return None
    if dtypes.is_extended(first.dtype) or dtypes.is_extended(second.dtype):
        return first if first.dtype == second.dtype else None
    dtype, weak = promote(first.dtype, first.weak_type, second.dtype, second.weak_type)
    return ShapedArray(first.shape, dtype, weak_type=weak)


def type_of(leaf: Any) -> Any:
    """Returns the type of an array or number, without its placement on devices."""
    aval = leaf if isinstance(leaf, ShapedArray) else get_aval(leaf)
    if isinstance(aval, ShapedArray):
        return ShapedArray(aval.shape, aval.dtype, weak_type=aval.weak_type)
    return aval


def converted(leaf: Any, aval: Any) -> Any:
    """Converts a leaf to an array of a common type."""
    if not isinstance(aval, ShapedArray) or dtypes.is_extended(aval.dtype):
        return leaf
    return convert_dtype(leaf, aval.dtype, aval.weak_type)


def placeholder(aval: Any) -> Any:
    """Returns zeros of a type, for a variable or a function result that has no value yet."""
    if not isinstance(aval, ShapedArray) or dtypes.is_extended(aval.dtype):
        raise TypeError(
            f"A traced condition cannot decide whether a value of type {aval.str_short()} is "
            "returned early. Assign it to a variable, and return the variable at the end."
        )
    return convert_dtype(np.zeros(aval.shape, aval.dtype), aval.dtype, aval.weak_type)


def shown(leaf: Any) -> str:
    """Returns a short description of a leaf, for error messages."""
    if is_array(leaf) or isinstance(leaf, ShapedArray):
        return (leaf if isinstance(leaf, ShapedArray) else get_aval(leaf)).str_short()
    return repr(leaf)
