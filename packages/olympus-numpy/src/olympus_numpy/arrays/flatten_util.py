# SPDX-License-Identifier: Apache-2.0
"""Pytrees of arrays as flat vectors, and back."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.promotion import lattice_result_type

from .creation import asarray
from .filling import zeros
from .shaping import ravel, reshape

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Array, Callable[[Array], Any]]:
    """Flattens a pytree of arrays into one vector; also returns the inverse function.

    Arrays of different dtypes are promoted to a common dtype. The inverse function restores the
    original dtypes.

    Args:
      pytree: a pytree of arrays and scalars.

    Returns:
      The vector, and a function from a vector of the same length to a pytree of the same structure.
      If all dtypes are equal, the function accepts vectors of any dtype and keeps that dtype.
      Otherwise it accepts only vectors of the common dtype. The functions of pytrees with equal
      structures, shapes and dtypes compare equal.

    Example:
      >>> import numpy as np
      >>> vector, unravel = ravel_pytree({"scale": 2.0, "shift": np.arange(3)})
      >>> vector
      Array([2., 0., 1., 2.], dtype=float32)
      >>> unravel(vector)["shift"]
      Array([0, 1, 2], dtype=int32)
    """
    leaves, tree = pytrees.tree_flatten(pytree)
    if not leaves:
        return zeros(0), _Unravel(tree, (), (), None)
    avals = [get_aval(leaf) for leaf in leaves]
    shapes = tuple(aval.shape for aval in avals)
    leaf_dtypes = tuple(lattice_result_type(aval)[0] for aval in avals)
    if len(set(leaf_dtypes)) == 1:
        vectors = [ravel(leaf) for leaf in leaves]
        common = None
    else:
        # The dtypes are promoted, not the leaves, so Python numbers count as strongly typed.
        common, _ = lattice_result_type(*leaf_dtypes)
        vectors = [ravel(lax.convert_element_type(leaf, common)) for leaf in leaves]
    return lax.concatenate(vectors, 0), _Unravel(tree, shapes, leaf_dtypes, common)


class _Unravel:
    """Function from a vector to a pytree.

    Attributes:
      tree: the structure of the pytree.
      shapes: the shapes of its leaves.
      dtypes: the dtypes of its leaves.
      common: the dtype of the vector; None if all leaves have the same dtype.
    """

    __slots__ = ("common", "dtypes", "shapes", "tree")

    def __init__(self, tree: Any, shapes: tuple, dtypes: tuple, common: Any) -> None:
        self.tree = tree
        self.shapes = shapes
        self.dtypes = dtypes
        self.common = common

    @api_boundary
    def __call__(self, vector: Any) -> Any:
        if not self.shapes:
            return pytrees.tree_unflatten(self.tree, [])
        vector = asarray(vector)
        if self.common is not None and vector.dtype != self.common:
            raise TypeError(
                f"unravel function given array of dtype {dtypes.name_of(vector.dtype)}, but "
                f"expected dtype {dtypes.name_of(self.common)}: the arrays of the pytree have "
                "several dtypes, which can only be restored from their common dtype"
            )
        parts = lax.split(vector, tuple(map(math.prod, self.shapes)))
        leaves = []
        for part, shape, dtype in zip(parts, self.shapes, self.dtypes, strict=True):
            leaf = reshape(part, shape)
            leaves.append(leaf if self.common is None else _restore(leaf, dtype))
        return pytrees.tree_unflatten(self.tree, leaves)

    def _key(self) -> tuple:
        return self.tree, self.shapes, self.dtypes, self.common

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Unravel) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())


def _restore(part: Any, dtype: Any) -> Array:
    """Converts a part of a vector back to its leaf's dtype."""
    if not dtypes.issubdtype(part.dtype, np.complexfloating):
        return lax.convert_element_type(part, dtype)
    with warnings.catch_warnings():  # the imaginary parts of real leaves are zero
        warnings.simplefilter("ignore", np.exceptions.ComplexWarning)
        return lax.convert_element_type(part, dtype)
