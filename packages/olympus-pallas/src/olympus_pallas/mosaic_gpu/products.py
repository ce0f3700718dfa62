# SPDX-License-Identifier: Apache-2.0
"""Matrix products on the tensor cores of GPUs."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray, get_aval

from ..memory.annotations import RefLike
from .factors import check_scales, dense_shape
from .operations import aval_of_view, bind_operation, is_reference, operation

__all__ = [
    "tcgen05_commit_arrive",
    "tcgen05_mma",
    "wgmma",
    "wgmma_accumulator_load",
    "wgmma_wait",
]

wgmma_p = operation("wgmma")
wgmma_wait_p = operation("wgmma_wait")
wgmma_load_p = operation("wgmma_accumulator_load")
tcgen05_mma_p = operation("tcgen05_mma")
tcgen05_commit_p = operation("tcgen05_commit_arrive")


def _matrix(value: Any) -> ShapedArray:
    return aval_of_view(value) if is_reference(value) else get_aval(value)  # type: ignore[return-value]


def _check_product(name: str, acc: Any, a: Any, b: Any, metadata: Any | None = None) -> None:
    total, left, right = _matrix(acc), _matrix(a), _matrix(b)
    left = left.update(shape=dense_shape(left.shape, metadata))
    fits = (
        len(left.shape) == len(right.shape) == 2
        and left.shape[1] == right.shape[0]
        and total.shape == (left.shape[0], right.shape[1])
    )
    if not fits:
        raise ValueError(
            f"{name} adds a product of shapes {left.shape} and {right.shape} to an accumulator of "
            f"shape {total.shape}: they do not fit together"
        )
    if left.dtype != right.dtype:
        raise ValueError(
            f"{name} multiplies matrices of the same dtype, got {left.dtype} and {right.dtype}"
        )


def wgmma(acc: RefLike, a: RefLike | ArrayLike, b: RefLike) -> None:
    """Starts the addition of a product to an accumulator: ``acc[...] += a[...] @ b[...]``.

    Args:
      acc: an accumulator, made by `run_scoped` of `ACC`.
      a: the left factor, in SMEM or an array.
      b: the right factor, in SMEM.

    Raises:
      ValueError: the shapes or dtypes do not match.
    """
    _check_product("wgmma", acc, a, b)
    bind_operation(wgmma_p, (acc, a, b))


def wgmma_wait(n: int) -> None:
    """Waits until at most ``n`` products are pending.

    Args:
      n: the number of products.
    """
    bind_operation(wgmma_wait_p, (n,))


def wgmma_accumulator_load(acc: RefLike, *, wait_n: int | None = 0) -> Array:
    """Returns the contents of an accumulator.

    Args:
      acc: the accumulator.
      wait_n: the number of products that may be pending after the wait; None for no wait.

    Returns:
      An array of the accumulator's shape and dtype.
    """
    if wait_n is not None:
        wgmma_wait(wait_n)
    return bind_operation(wgmma_load_p, (acc,), (aval_of_view(acc),))[0]


def tcgen05_mma(
    acc: RefLike,
    a: RefLike,
    b: RefLike,
    barrier: RefLike | None = None,
    *,
    a_scale: RefLike | None = None,
    b_scale: RefLike | None = None,
    a_sparse_metadata: RefLike | None = None,
    accumulate: ArrayLike = True,
    collective_axis: str | None = None,
) -> None:
    """Starts the addition of a product to an accumulator in tensor memory.

    Args:
      acc: the accumulator, in TMEM.
      a: the left factor, in SMEM or TMEM.
      b: the right factor, in SMEM.
      barrier: barrier at which the product arrives when complete; None if `tcgen05_commit_arrive`
        is used instead.
      a_scale: scales of blocks of ``a``, in TMEM, of shape ``(m, k // 32)`` or ``(m, k // 16)``.
      b_scale: scales of blocks of ``b``, in TMEM, of shape ``(n, k // 32)`` or ``(n, k // 16)``.
      a_sparse_metadata: positions of the elements of a sparse ``a``, in TMEM, of the shape of ``a``
        and dtype ``uint2``. Two of every four elements of a row are stored.
      accumulate: whether to add the product to the accumulator; else the product replaces it.
      collective_axis: the axis along which two blocks compute the product together; not supported.

    Raises:
      ValueError: the shapes or dtypes do not match, or an option is not supported.
    """
    if collective_axis is not None:
        raise ValueError("products of two blocks are not simulated, got collective_axis")
    if (a_scale is None) != (b_scale is None):
        raise ValueError("a_scale and b_scale are given together, or neither is")
    _check_product("tcgen05_mma", acc, a, b, a_sparse_metadata)
    if a_scale is not None:
        length, columns = _matrix(b).shape
        check_scales("a_scale", a_scale, _matrix(a).shape[0], length)
        check_scales("b_scale", b_scale, columns, length)
    if isinstance(accumulate, bool):
        accumulate = np.bool_(accumulate)
    operands = (acc, a, b, barrier, accumulate, a_scale, b_scale, a_sparse_metadata)
    bind_operation(tcgen05_mma_p, operands)


def tcgen05_commit_arrive(barrier: RefLike, collective_axis: str | None = None) -> None:
    """Arrives at a barrier when the earlier products are complete.

    Args:
      barrier: the barrier.
      collective_axis: the axis along which two blocks compute products together; not supported.

    Raises:
      ValueError: ``collective_axis`` is given.
    """
    if collective_axis is not None:
        raise ValueError("products of two blocks are not simulated")
    bind_operation(tcgen05_commit_p, (barrier,))
