# SPDX-License-Identifier: Apache-2.0
"""Softmax along the last dimension; each program computes one row."""

from __future__ import annotations

from typing import Any

import olympus_numpy as jnp
from olympus_ir import ShapeDtypeStruct
from olympus_ir.programs.jit import jit
from olympus_pallas import BlockSpec, next_power_of_2, pallas_call
from olympus_pallas.triton import CompilerParams

__all__ = ["softmax"]


def _softmax(
    x: Any, *, axis: int = -1, num_warps: int = 4, interpret: bool = False, debug: bool = False
) -> Any:
    """Computes the softmax of an array along its last dimension.

    Args:
      x: the array.
      axis: the dimension of the sum, which must be the last one.
      num_warps: the number of warps that work on a row.
      interpret: whether the kernel is run as array operations.
      debug: whether to print the kernel.

    Returns:
      An array of the shape and dtype of ``x``; it is computed in single precision.

    Raises:
      NotImplementedError: ``axis`` is not the last dimension.

    Example:
      >>> import numpy as np
      >>> softmax(np.zeros((2, 4), np.float32), interpret=True)[0]
      Array([0.25, 0.25, 0.25, 0.25], dtype=float32)
    """
    if axis not in (-1, x.ndim - 1):
        raise NotImplementedError(
            f"this softmax must be along the last dimension, got axis={axis} for an array of shape "
            f"{x.shape}; move the axis to the end."
        )
    length = x.shape[-1]
    rows = x.reshape(-1, length)
    width = next_power_of_2(length)

    def kernel(x_ref: Any, o_ref: Any) -> None:
        inside = jnp.arange(width) < length
        row = jnp.where(inside, x_ref[...].astype(jnp.float32), -jnp.inf)
        weights = jnp.exp(row - jnp.max(row, axis=0))
        o_ref[...] = (weights / jnp.sum(weights, axis=0)).astype(o_ref.dtype)

    row_spec = BlockSpec((None, width), lambda i: (i, 0))
    result = pallas_call(
        kernel,
        ShapeDtypeStruct(rows.shape, rows.dtype),
        grid=(rows.shape[0],),
        in_specs=[row_spec],
        out_specs=row_spec,
        compiler_params=CompilerParams(num_warps=num_warps, num_stages=1),
        interpret=interpret,
        debug=debug,
        name="softmax",
    )(rows)
    return result.reshape(x.shape)


softmax = jit(_softmax, static_argnames=("axis", "num_warps", "interpret", "debug"))
