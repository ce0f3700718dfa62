# SPDX-License-Identifier: Apache-2.0
"""`VaryingArray`: an array whose size along some axes is known only when the program runs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.tracing import Tracer
from olympus_ir.trees import pytrees

__all__ = ["VaryingArray"]


class VaryingArray:
    """The valid part of a larger array: its first elements along the axes whose sizes vary.

    `masked` returns such arrays, and takes them as arguments. They are pytrees, so functions
    transformed by `jit` and `vmap` take and return them, too.

    Args:
      values: the larger array. Its other elements have no meaning.
      lengths: a mapping from axes to sizes, which are integer scalars.

    Attributes:
      values: the larger array.
      lengths: the sizes by axis.

    Example:
      >>> import numpy as np
      >>> x = VaryingArray(np.array([3.0, 1.0, 0.0]), {0: 2})
      >>> np.asarray(x)
      array([3., 1.])
      >>> x.mask
      Array([ True,  True, False], dtype=bool)
    """

    __slots__ = ("lengths", "values")

    @api_boundary
    def __init__(self, values: Any, lengths: Mapping[int, Any]) -> None:
        self.values = values
        self.lengths = dict(sorted(lengths.items()))

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self.values.dtype

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.values.shape)

    @property
    def mask(self) -> Any:
        """A Boolean array of the shape of `values`, true for elements that belong to the array."""
        shape = self.values.shape
        mask = lax.full(shape, True, np.dtype(bool))
        for axis, length in self.lengths.items():
            size = lax.broadcast(lax.convert_element_type(length, np.int32), shape)
            mask = lax.bitwise_and(mask, lax.lt(lax.broadcasted_iota(np.int32, shape, axis), size))
        return mask

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        window = [slice(None)] * self.ndim
        for axis, length in self.lengths.items():
            window[axis] = slice(int(length))
        return np.array(np.asarray(self.values)[tuple(window)], dtype)

    def __len__(self) -> int:
        return int(self.lengths[0]) if 0 in self.lengths else len(self.values)

    def __repr__(self) -> str:
        parts = (self.values, *self.lengths.values())
        if any(isinstance(part, Tracer) for part in parts) or any(map(np.ndim, parts[1:])):
            return f"VaryingArray({self.values!r}, lengths={self.lengths!r})"
        return f"VaryingArray({np.asarray(self)!r})"


pytrees.register_pytree_node(
    VaryingArray,
    lambda array: ((array.values, *array.lengths.values()), tuple(array.lengths)),
    lambda axes, children: VaryingArray(children[0], dict(zip(axes, children[1:], strict=True))),
)
