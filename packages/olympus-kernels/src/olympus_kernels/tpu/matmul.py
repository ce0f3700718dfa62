# SPDX-License-Identifier: Apache-2.0
"""Matrix product by blocks, which keeps partial sums in the core's memory."""

from __future__ import annotations

from typing import Any

import numpy as np

import olympus_numpy as jnp
from olympus_ir import ShapeDtypeStruct, lax
from olympus_ir.programs.jit import jit
from olympus_pallas import BlockSpec, num_programs, pallas_call, program_id, when
from olympus_pallas.tpu import VMEM, CompilerParams

__all__ = ["matmul", "matmul_kernel"]


def matmul_kernel(x_tile_ref: Any, y_tile_ref: Any, o_tile_ref: Any, acc_ref: Any) -> None:
    """Adds the product of two blocks to an accumulator; the last program writes the block.

    Args:
      x_tile_ref: a block of the left matrix.
      y_tile_ref: a block of the right matrix.
      o_tile_ref: the block of the product.
      acc_ref: the accumulator.
    """

    @when(program_id(2) == 0)
    def _() -> None:
        acc_ref[...] = jnp.zeros_like(acc_ref)

    acc_ref[...] += lax.dot(x_tile_ref[...], y_tile_ref[...], preferred_element_type=acc_ref.dtype)

    @when(program_id(2) == num_programs(2) - 1)
    def _() -> None:
        o_tile_ref[...] = acc_ref[...].astype(o_tile_ref.dtype)


def _matmul(
    x: Any,
    y: Any,
    *,
    block_shape: tuple[int, int],
    block_k: int = 256,
    out_dtype: Any = None,
    debug: bool = False,
) -> Any:
    """Multiplies two matrices.

    Args:
      x: the left matrix.
      y: the right matrix, of the same dtype.
      block_shape: the size of the blocks of the product.
      block_k: the size of a block along the dimension that is summed over.
      out_dtype: the dtype of the product; by default that of ``x``.
      debug: whether to print the kernel.

    Returns:
      The product, of shape [rows of ``x``, columns of ``y``].

    Raises:
      TypeError: the dtypes differ.
      ValueError: the shapes are not consistent, or are not multiples of the block sizes.

    Example:
      >>> from olympus_pallas.tpu import force_tpu_interpret_mode
      >>> ones = np.ones((256, 256), np.float32)
      >>> with force_tpu_interpret_mode():
      ...     float(matmul(ones, ones, block_shape=(128, 128))[0, 0])
      256.0
    """
    if x.dtype != y.dtype:
        raise TypeError(f"the matrices must have the same dtype, got {x.dtype} and {y.dtype}")
    if x.shape[1] != y.shape[0]:
        raise ValueError(f"matrices of shapes {x.shape} and {y.shape} have no product")
    rows, columns = block_shape
    sizes = (x.shape[0], y.shape[1], x.shape[1])
    if any(size % block for size, block in zip(sizes, (rows, columns, block_k), strict=True)):
        raise ValueError(
            f"matrices of shapes {x.shape} and {y.shape} are not made of whole blocks of "
            f"{block_shape} along {block_k}"
        )
    floating = jnp.issubdtype(x.dtype, np.floating)
    return pallas_call(
        matmul_kernel,
        ShapeDtypeStruct(sizes[:2], x.dtype if out_dtype is None else out_dtype),
        grid=(sizes[0] // rows, sizes[1] // columns, sizes[2] // block_k),
        in_specs=[
            BlockSpec((rows, block_k), lambda i, j, k: (i, k)),
            BlockSpec((block_k, columns), lambda i, j, k: (k, j)),
        ],
        out_specs=BlockSpec((rows, columns), lambda i, j, k: (i, j)),
        scratch_shapes=[VMEM(block_shape, np.float32 if floating else np.int32)],
        compiler_params=CompilerParams(dimension_semantics=("parallel", "parallel", "arbitrary")),
        debug=debug,
    )(x, y)


matmul = jit(_matmul, static_argnames=("block_shape", "block_k", "debug", "out_dtype"))
