# SPDX-License-Identifier: Apache-2.0
"""Methods that all arrays share: one list, attached to every class of arrays.

Tracers, the reference evaluator's arrays and device arrays know no NumPy. olympus-numpy hands its
operators and methods to `attach_methods` once; they are set on each class registered here, now or
later.
"""

from __future__ import annotations

from typing import Any

from .._jaxlib import Array, set_tracer_class

__all__ = ["Array", "ArrayBase", "attach_methods", "register_array_class"]


class ArrayBase:
    """Base of the array classes written in Python; instances count as `Array`."""

    __slots__ = ()

    # NumPy defers to the right operand's operators when its priority is higher.
    __array_priority__ = 100

    def _is_traced_array(self) -> bool:
        return True


set_tracer_class(ArrayBase)

_array_classes: list[type] = [ArrayBase]
_methods: dict[str, Any] = {}


def register_array_class(array_class: type) -> type:
    """Makes a class receive all methods attached so far and from now on."""
    if array_class not in _array_classes:
        _array_classes.append(array_class)
        for name, method in _methods.items():
            setattr(array_class, name, method)
    return array_class


def attach_methods(methods: dict[str, Any]) -> None:
    """Sets methods, operators and properties on all classes of arrays.

    Args:
      methods: from attribute name to function, property or other descriptor.
    """
    _methods.update(methods)
    for array_class in _array_classes:
        for name, method in methods.items():
            setattr(array_class, name, method)
