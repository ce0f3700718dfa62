# SPDX-License-Identifier: Apache-2.0
"""`vmap` over several leading dimensions; dimensions of size one broadcast."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees

__all__ = ["broadcasting_vmap", "nfold_vmap"]


def broadcasting_vmap(
    fun: Callable[..., Any], in_axes: int | Sequence[int | None] | None = 0, out_axes: int = 0
) -> Callable[..., Any]:
    """Vectorizes a function over array axes; axes of size one broadcast.

    Args:
      fun: the function of one example.
      in_axes: the axis of each argument; None for an argument that all examples share.
      out_axes: the axis of results. It has size one if the axes of all arguments have size one.

    Returns:
      The vectorized function.

    Example:
      >>> import numpy as np
      >>> broadcasting_vmap(lambda x, y: x + y)(np.ones((3, 2)), np.ones((1, 2))).shape
      (3, 2)
    """

    @api_boundary
    @functools.wraps(fun)
    def mapped(*args: Any) -> Any:
        axes = in_axes if isinstance(in_axes, Sequence) else [in_axes] * len(args)
        squeezed, mapped_axes = [], []
        for arg, axis in zip(args, axes, strict=True):
            if axis is not None and arg.shape[axis] == 1:
                arg, axis = lax.squeeze(arg, (axis,)), None
            squeezed.append(arg)
            mapped_axes.append(axis)
        if any(axis is not None for axis in mapped_axes):
            return vmap(fun, in_axes=tuple(mapped_axes), out_axes=out_axes)(*squeezed)
        out = fun(*squeezed)
        if all(axis is None for axis in axes):
            return out
        return pytrees.tree_map(lambda leaf: lax.expand_dims(leaf, (out_axes,)), out)

    return mapped


def nfold_vmap(
    fun: Callable[..., Any], N: int, *, broadcasted: bool = True, in_axes: Any = 0
) -> Callable[..., Any]:
    """Vectorizes a function over several axes in turn.

    Args:
      fun: the function of one example.
      N: the number of axes.
      broadcasted: whether sizes of one broadcast.
      in_axes: the axis of each argument in each step.

    Returns:
      The vectorized function.

    Example:
      >>> import numpy as np
      >>> nfold_vmap(lambda x, y: x * y, 2)(np.ones((3, 1)), np.ones((1, 4))).shape
      (3, 4)
    """
    transformation = broadcasting_vmap if broadcasted else vmap
    for _ in range(N):
        fun = transformation(fun, in_axes=in_axes)
    return fun
