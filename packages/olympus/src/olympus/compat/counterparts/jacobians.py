# SPDX-License-Identifier: Apache-2.0
"""Helper functions for Jacobians of functions of pytrees, under the names in JAX's module."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.trees import pytrees
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.promotion import result_type

__all__ = [
    "check_scalar",
    "jacfwd_unravel",
    "jacrev_unravel",
    "std_basis",
    "unravel_array_into_pytree",
]


def std_basis(pytree: Any) -> Any:
    """Returns the standard basis of the space of a pytree, stacked along the first axis."""
    leaves = pytrees.tree_leaves(pytree)
    count = sum(np.size(leaf) for leaf in leaves)
    dtype = result_type(*leaves)
    rows, columns = (lax.broadcasted_iota(np.int32, (count, count), axis) for axis in (0, 1))
    basis = lax.convert_element_type(lax.eq(rows, columns), dtype)
    return unravel_array_into_pytree(pytree, 1, None, basis)


def unravel_array_into_pytree(pytree: Any, axis: int, example: Any, arr: Array) -> Any:
    """Splits an axis of an array into pieces of the shapes of the leaves of a pytree.

    Args:
      pytree: the pytree.
      axis: the axis to split.
      example: the value whose dtype the pieces get; None for the dtype of the corresponding leaf.
      arr: the array.
    """
    leaves, tree = pytrees.tree_flatten(pytree)
    axis %= arr.ndim
    ends = list(accumulate(np.size(leaf) for leaf in leaves))
    pieces = []
    for leaf, end in zip(leaves, ends, strict=True):
        piece = lax.slice_in_dim(arr, end - np.size(leaf), end, axis=axis)
        shape = (*arr.shape[:axis], *np.shape(leaf), *arr.shape[axis + 1 :])
        aval = get_aval(leaf if example is None else example)
        pieces.append(lax.convert_dtype(lax.reshape(piece, shape), aval.dtype, aval.weak_type))
    return pytrees.tree_unflatten(tree, pieces)


def jacfwd_unravel(input_pytree: Any, output_pytree_leaf: Any, arr: Array) -> Any:
    """Splits the last axis of a leaf of a Jacobian into one axis for each input."""
    return unravel_array_into_pytree(input_pytree, -1, output_pytree_leaf, arr)


def jacrev_unravel(output_pytree: Any, input_pytree_leaf: Any, arr: Array) -> Any:
    """Splits the first axis of a leaf of a Jacobian into one axis for each output."""
    return unravel_array_into_pytree(output_pytree, 0, input_pytree_leaf, arr)


def check_scalar(x: Any) -> None:
    """Raises TypeError if a value is not a scalar."""
    if np.shape(x):
        raise TypeError(
            f"Gradient only defined for scalar-output functions. Output had shape: {np.shape(x)}."
        )
