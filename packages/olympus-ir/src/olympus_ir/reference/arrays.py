# SPDX-License-Identifier: Apache-2.0
"""Arrays of the reference evaluator: immutable, typed arrays in host memory."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from ..diagnostics.errors import truth_value_error
from ..programs.olympuspr import register_literal_type
from ..types import dtypes
from ..types.array_text import array_text
from ..types.arrays import ConcreteArray, register_array_class
from ..types.avals import ShapedArray, register_value_type

__all__ = ["ReferenceArray", "elements_of", "physical_of"]


class ReferenceArray(ConcreteArray):
    """Array of the reference evaluator.

    Args:
      value: the elements. The array takes ownership of the NumPy array, which must not be written
        to afterwards.
      aval: the array's type, of the same shape and dtype.

    Example:
      >>> ReferenceArray(np.ones(2, np.float32), ShapedArray((2,), np.float32))
      Array([1., 1.], dtype=float32)
    """

    __slots__ = ("__weakref__", "_aval", "_value")

    _aval: ShapedArray
    _value: np.ndarray

    def __init__(self, value: np.ndarray, aval: ShapedArray) -> None:
        value.flags.writeable = False
        self._value = value
        self._aval = aval

    # ---- contents ----

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if dtype is None and copy is None:
            return self._value
        return np.array(self._value, dtype=dtype, copy=copy)

    def __iter__(self) -> Iterator[ReferenceArray]:
        aval = self._aval
        if not aval.shape:
            raise TypeError("iteration over a 0-d array")
        row = ShapedArray(aval.shape[1:], aval.dtype, aval.weak_type)
        # The ellipsis keeps each element an array, because NumPy lacks scalars of some dtypes.
        return (
            ReferenceArray(self._value[position, ...], row) for position in range(aval.shape[0])
        )

    def _scalar(self) -> Any:
        if self._aval.shape:
            raise TypeError(
                "Only scalar arrays can be converted to Python scalars; got "
                f"arr.ndim={self._aval.ndim}. Take one element, or tolist() for all of them."
            )
        return self._value.item()

    def __bool__(self) -> bool:
        size = self._aval.size
        if size == 1:
            return bool(self._value)
        raise truth_value_error(size)

    def __int__(self) -> int:
        return int(self._scalar())

    def __float__(self) -> float:
        return float(self._scalar())

    def __complex__(self) -> complex:
        return complex(self._scalar())

    def __index__(self) -> int:
        if self._aval.shape or not dtypes.issubdtype(self._aval.dtype, np.integer):
            raise TypeError("Only integer scalar arrays can be converted to a scalar index.")
        return int(self._value.item())

    def item(self, *args: Any) -> Any:
        """Returns the only element, or the element at an index, as a Python number."""
        return self._value.item(*args)

    def tolist(self) -> Any:
        """Returns the contents as nested lists of Python numbers."""
        return self._value.tolist()

    def tobytes(self, order: Any = "C") -> bytes:
        """Returns the contents as bytes."""
        return self._value.tobytes(order)

    def __dlpack__(self, **kwargs: Any) -> Any:
        # NumPy exports only writable memory, so export a copy.
        return np.array(self._value).__dlpack__(**kwargs)

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __reduce__(self) -> tuple:
        return (_restore, (np.array(self._value), self._aval))

    # ---- methods shared with device arrays ----

    def block_until_ready(self) -> ReferenceArray:
        """Returns the array, which is already computed."""
        return self

    def copy_to_host_async(self) -> None:
        """Does nothing, because the contents are on the host."""

    def is_ready(self) -> bool:
        """Returns True, because the array is already computed."""
        return True

    def is_deleted(self) -> bool:
        """Returns False, because the memory lives as long as the array."""
        return False

    def addressable_data(self, index: int) -> ReferenceArray:
        """Returns the array, which is its only shard.

        Raises:
          IndexError: if ``index`` is not 0.
        """
        if index != 0:
            raise IndexError(f"the array has one part, with index 0; got index {index}")
        return self

    # ---- text ----

    def __repr__(self) -> str:
        return array_text(self._value, self._aval)

    def __str__(self) -> str:
        return str(self._value)

    def __format__(self, format_spec: str) -> str:
        if self._aval.shape:
            return format(self._value, format_spec)
        return format(self._value[()], format_spec)


def _restore(value: np.ndarray, aval: ShapedArray) -> ReferenceArray:
    return ReferenceArray(value, aval)


def _aval_of(array: ReferenceArray) -> ShapedArray:
    return array._aval


register_value_type(ReferenceArray, _aval_of)
register_literal_type(ReferenceArray)
register_array_class(ReferenceArray)


# ---- extended dtypes ----


def elements_of(physical: np.ndarray, dtype: Any) -> np.ndarray:
    """Returns the elements of an extended dtype as raw bytes, given their physical array.

    Args:
      physical: the physical array; its last dimensions are the dimensions of one element.
      dtype: the extended dtype.
    """
    element = dtype.physical_element_aval()
    shape = physical.shape[: physical.ndim - element.ndim]
    flat = np.ascontiguousarray(physical).reshape(*shape, math.prod(element.shape))
    return flat.view(np.dtype((np.void, flat.shape[-1] * flat.itemsize))).reshape(shape)


def physical_of(elements: np.ndarray, dtype: Any) -> np.ndarray:
    """Returns the physical array that stores elements of an extended dtype; see `elements_of`."""
    element = dtype.physical_element_aval()
    flat = np.ascontiguousarray(elements).reshape(*elements.shape, 1).view(element.dtype)
    return flat.reshape(*elements.shape, *element.shape)
