# SPDX-License-Identifier: Apache-2.0
"""Bases of the array classes, and the methods that all arrays share.

The array classes (tracers, the reference evaluator's arrays, device arrays) do not define NumPy's
methods. olympus-numpy passes its operators and methods to `attach_methods`, which sets them on
every class that is registered, now or later.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .._jaxlib import count_as_subclasses, set_tracer_class
from ..diagnostics.errors import assignment_error
from ..diagnostics.traceback_filtering import api_boundary

if TYPE_CHECKING:
    from .array_interface import Array
    from .avals import ShapedArray
else:
    from .._jaxlib import Array

__all__ = ["Array", "ArrayBase", "ConcreteArray", "attach_methods", "register_array_class"]

Self = TypeVar("Self", bound="ConcreteArray")

# At run time a class attribute makes instances pass as instances of `Array`; type checkers need a
# base class.
_Base = Array if TYPE_CHECKING else object


class ArrayBase(_Base):
    """Base of the array classes written in Python; instances count as `Array`."""

    __slots__ = ()

    # NumPy uses the right operand's operator if its priority is higher.
    __array_priority__ = 100

    def _is_traced_array(self) -> bool:
        return True


set_tracer_class(ArrayBase)


class ConcreteArray(ArrayBase):
    """Base of immutable, concrete array classes that are written in Python.

    Subclasses have a slot ``_aval`` for the array's type.
    """

    __slots__ = ()

    _aval: ShapedArray
    __hash__ = None  # type: ignore[assignment]

    @property
    def aval(self) -> ShapedArray:
        """The abstract value."""
        return self._aval

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions."""
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        """The data type of the elements."""
        return self._aval.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return self._aval.ndim

    @property
    def size(self) -> int:
        """The number of elements."""
        return self._aval.size

    @property
    def weak_type(self) -> bool:
        """Returns whether promotion prefers the dtypes of other operands."""
        return self._aval.weak_type

    @property
    def itemsize(self) -> int:
        """The size of one element in bytes."""
        return self._aval.dtype.itemsize

    @property
    def nbytes(self) -> int:
        """The size of all elements in bytes."""
        return self._aval.size * self._aval.dtype.itemsize

    @api_boundary
    def __len__(self) -> int:
        if not self._aval.shape:
            raise TypeError("len() of unsized object")
        return self._aval.shape[0]

    @api_boundary
    def __setitem__(self, index: Any, value: Any) -> NoReturn:
        raise assignment_error()

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, memo: dict) -> Self:
        return self


count_as_subclasses(ConcreteArray)


_array_classes: list[type] = [ArrayBase]
_methods: dict[str, Any] = {}


def register_array_class(array_class: type) -> type:
    """Registers a class that receives all attached methods, including those attached before."""
    if array_class not in _array_classes:
        _array_classes.append(array_class)
        for name, method in _methods.items():
            setattr(array_class, name, method)
    return array_class


def attach_methods(methods: dict[str, Any]) -> None:
    """Sets methods, operators and properties on all classes of arrays.

    Args:
      methods: a mapping from attribute name to function, property or other descriptor.
    """
    _methods.update(methods)
    for array_class in _array_classes:
        for name, method in methods.items():
            setattr(array_class, name, method)
