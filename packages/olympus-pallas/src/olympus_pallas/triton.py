# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs: the parameters of Triton, masked loads and stores, atomic updates, hints."""

from __future__ import annotations

import dataclasses
from typing import Any

from olympus_ir import lax
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval

from .calls import pallas_call as calls
from .memory.access import atomic_add as atomic_add
from .memory.access import atomic_and as atomic_and
from .memory.access import atomic_cas as atomic_cas
from .memory.access import atomic_max as atomic_max
from .memory.access import atomic_min as atomic_min
from .memory.access import atomic_or as atomic_or
from .memory.access import atomic_xchg as atomic_xchg
from .memory.access import atomic_xor as atomic_xor
from .memory.access import load as load
from .memory.access import store as store
from .operations.hints import approx_tanh as approx_tanh
from .operations.hints import debug_barrier as debug_barrier
from .operations.hints import elementwise_inline_asm as elementwise_inline_asm
from .operations.hints import max_contiguous as max_contiguous

__all__ = [
    "CompilerParams",
    "approx_tanh",
    "atomic_add",
    "atomic_and",
    "atomic_cas",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xchg",
    "atomic_xor",
    "debug_barrier",
    "dot",
    "elementwise_inline_asm",
    "load",
    "max_contiguous",
    "store",
]


@dataclasses.dataclass(frozen=True)
class CompilerParams(calls.CompilerParams):
    """Parameters of Triton for a kernel.

    Args:
      num_warps: the number of warps, groups of 32 threads, that run one program; 4 by default.
      num_stages: the number of stages over which loads in loops are spread; 3 by default.

    Example:
      >>> CompilerParams(num_warps=8)
      CompilerParams(num_warps=8, num_stages=None)
    """

    num_warps: int | None = None
    num_stages: int | None = None


def dot(
    a: ArrayLike,
    b: ArrayLike,
    trans_a: bool = False,
    trans_b: bool = False,
    allow_tf32: bool | None = None,
    precision: Any = None,
) -> Array:
    """Multiplies two matrices, with sums in single precision.

    Args:
      a: the left matrix.
      b: the right matrix.
      trans_a: whether to transpose the left matrix first.
      trans_b: whether to transpose the right matrix first.
      allow_tf32: whether factors of single precision may be rounded to TF32.
      precision: the precision of products, in place of ``allow_tf32``.

    Returns:
      A matrix of dtype float32, or int32 for integer operands.

    Raises:
      ValueError: the operands are not matrices, or both ``allow_tf32`` and ``precision`` are given.

    Example:
      >>> import numpy as np
      >>> dot(np.eye(2, dtype=np.float32), np.float32([[1, 2], [3, 4]]), trans_b=True)
      Array([[1., 3.],
             [2., 4.]], dtype=float32)
    """
    a_aval, b_aval = get_aval(a), get_aval(b)
    if len(a_aval.shape) != 2 or len(b_aval.shape) != 2:  # type: ignore[attr-defined]
        raise ValueError("`a` and `b` must be 2D arrays.")
    if allow_tf32 is not None:
        if precision is not None:
            raise ValueError("Only one of allow_tf32 and precision can be specified")
        precision = lax.Precision.HIGH if allow_tf32 else lax.Precision.HIGHEST
    accumulator = "int32" if a_aval.dtype.kind in "iu" else "float32"  # type: ignore[attr-defined]
    dimensions = (((0 if trans_a else 1,), (1 if trans_b else 0,)), ((), ()))
    return lax.dot_general(
        a, b, dimensions, precision=precision, preferred_element_type=accumulator
    )
