# SPDX-License-Identifier: Apache-2.0
"""Updates at a traced boolean mask, as selections.

The number of elements that a traced mask selects is unknown, so the indices of an update are
unknown, too. An update with the same values for every selected element needs no indices. Its result
is a selection between the updated and the old elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import NonConcreteBooleanIndexError
from olympus_ir.programs.tracing import Tracer
from olympus_ir.types import dtypes

from ..arrays.selection import where
from ..core.promotion import convert, ensure_array, promote_dtypes
from ..elementwise.arithmetic import add, maximum, minimum, multiply, subtract, true_divide
from ..elementwise.powers import power

__all__ = ["MaskedPart", "masked_part"]

_OPERATIONS: dict[str, Callable[[Any, Any], Any]] = {
    "set": lambda old, values: values,
    "add": add,
    "subtract": subtract,
    "multiply": multiply,
    "min": minimum,
    "max": maximum,
}
# Operations whose second operand is a factor, divisor or exponent. A second operand of 1 leaves
# elements unchanged.
_OPERATIONS_BY_FACTORS: dict[str, Callable[[Any, Any], Any]] = {
    "divide": true_divide,
    "power": power,
}


class MaskedPart(NamedTuple):
    """Part of an array that a traced mask selects.

    Attributes:
      mask: the traced booleans.
      axis: the dimension of the array at which the dimensions of the mask begin.
      trailing: the number of the array's dimensions after the dimensions of the mask.
    """

    mask: Any
    axis: int
    trailing: int

    def updated(self, x: Any, values: Any, operation: str) -> Any:
        """Returns the array with an operation applied to the selected elements.

        Args:
          x: the array.
          values: the operation's second operand, the same for all selected elements.
          operation: the name of a method of ``x.at[mask]``.

        Returns:
          An array of the shape of ``x``. It has the dtype of ``x``, except that the dtypes for
          ``"divide"`` and ``"power"`` are those of `true_divide` and `power`.

        Raises:
          NonConcreteBooleanIndexError: if the values differ from one selected element to the next.
        """
        x = ensure_array(x)
        if operation in _OPERATIONS_BY_FACTORS:
            factors = self.updated(lax.full_like(x, 1), values, "multiply")
            return _OPERATIONS_BY_FACTORS[operation](x, factors)
        dtype, weak_type = x.dtype, getattr(x, "weak_type", False)
        values = self._aligned(ensure_array(values), x.shape)
        if dtypes.is_extended(dtype):
            return self.choose(values, x)
        old, values = promote_dtypes(x, values)
        return self.choose(convert(_OPERATIONS[operation](old, values), dtype, weak_type), x)

    def choose(self, new: Any, old: Any) -> Any:
        """Returns the new elements where the mask is true, and the old elements elsewhere."""
        mask = self.mask.reshape((1,) * self.axis + self.mask.shape + (1,) * self.trailing)
        return where(mask, new, old)

    def _aligned(self, values: Any, shape: tuple[int, ...]) -> Any:
        """Reshapes the values of an update so that they broadcast to the whole array.

        In NumPy, the values have one dimension for all selected elements. It must have size 1 here,
        and becomes a dimension of size 1 for each dimension of the mask.

        Args:
          values: the values, which broadcast to the shape of ``x[mask]``.
          shape: the shape of the array ``x``.

        Raises:
          NonConcreteBooleanIndexError: if the values differ between selected elements.
          ValueError: if the values do not broadcast to the selected elements.
        """
        leading = values.ndim - self.trailing - 1
        if leading >= 0:
            if values.shape[leading] != 1:
                raise NonConcreteBooleanIndexError(self.mask)
            ones = (1,) * self.mask.ndim
            values = values.reshape(values.shape[:leading] + ones + values.shape[leading + 1 :])
        selected = shape[: self.axis] + (1,) * self.mask.ndim + shape[len(shape) - self.trailing :]
        if _broadcasts(values.shape, selected):
            return values
        raise ValueError(
            f"Incompatible shapes for broadcasting: values of shape {values.shape} at a mask of "
            f"shape {self.mask.shape} in an array of shape {shape}"
        )


def _broadcasts(shape: tuple[int, ...], target: tuple[int, ...]) -> bool:
    try:
        return np.broadcast_shapes(shape, target) == target
    except ValueError:
        return False


def masked_part(shape: tuple[int, ...], index: Any) -> MaskedPart | None:
    """Returns the part that an index selects by one traced mask, or None for any other index.

    Args:
      shape: the array's shape.
      index: an index, such as ``mask`` or ``(slice(None), mask)``. Besides the mask it may have
        full slices and an ellipsis.

    Raises:
      IndexError: if the mask does not have the shape of the dimensions that it indexes.
    """
    parts = index if index.__class__ is tuple else (index,)
    positions = [position for position, part in enumerate(parts) if _is_traced_mask(part)]
    if len(positions) != 1:
        return None
    (position,) = positions
    mask = parts[position]
    before, after = parts[:position], parts[position + 1 :]
    if not all(part is Ellipsis or _is_full_slice(part) for part in (*before, *after)):
        return None
    axis = len(before)
    if Ellipsis in before:
        axis = len(shape) - mask.ndim - len(after)
    trailing = len(shape) - axis - mask.ndim
    if trailing < 0 or mask.shape != shape[axis : axis + mask.ndim]:
        raise IndexError(
            f"boolean index did not match shape of indexed array in index {position}: got "
            f"{mask.shape}, expected {list(shape[axis : axis + mask.ndim])}"
        )
    return MaskedPart(mask, axis, trailing)


def _is_traced_mask(part: Any) -> bool:
    return isinstance(part, Tracer) and part.dtype == np.bool_ and part.concrete_or_none() is None


def _is_full_slice(part: Any) -> bool:
    return part.__class__ is slice and part == slice(None)
