# SPDX-License-Identifier: Apache-2.0
"""Explicit control of matrix units: push right factors, multiply by left factors, pop sums."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir.programs.primitives import Primitive
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray

from ..operations.effects import matrix_unit_effect
from ..operations.simulated import simulated_primitives

__all__ = [
    "matmul_acc_lhs",
    "matmul_acc_lhs_p",
    "matmul_pop",
    "matmul_pop_p",
    "matmul_push_rhs",
    "matmul_push_rhs_p",
]

matmul_push_rhs_p = Primitive.declare("matmul_push_rhs", multiple_results=True)
matmul_acc_lhs_p = Primitive.declare("matmul_acc_lhs", multiple_results=True)
matmul_pop_p = Primitive("matmul_pop")
simulated_primitives.update((matmul_push_rhs_p, matmul_acc_lhs_p, matmul_pop_p))


_EFFECTS = frozenset({matrix_unit_effect})


def _check_matrix(operation: str, aval: Any) -> None:
    if len(aval.shape) != 2:
        raise ValueError(f"{operation} takes a matrix, got {aval.str_short()}")


@matmul_push_rhs_p.def_effectful_abstract_eval
def _push_types(rhs: Any, **params: Any) -> Any:
    _check_matrix("matmul_push_rhs", rhs)
    return (), _EFFECTS


@matmul_acc_lhs_p.def_effectful_abstract_eval
def _acc_types(lhs: Any, **params: Any) -> Any:
    _check_matrix("matmul_acc_lhs", lhs)
    return (), _EFFECTS


@matmul_pop_p.def_effectful_abstract_eval
def _pop_type(*, shape: tuple[int, int], dtype: Any, **params: Any) -> Any:
    return ShapedArray(shape, dtype), _EFFECTS


def matmul_push_rhs(
    rhs: ArrayLike, staging_register: int, mxu_index: int, *, transpose: bool = False
) -> None:
    """Pushes a right factor to a matrix unit.

    Args:
      rhs: a matrix as large as the unit.
      staging_register: the register that keeps the factor until its use. It must be empty.
      mxu_index: the index of the matrix unit.
      transpose: whether to use the transpose of ``rhs`` as the factor.
    """
    matmul_push_rhs_p.bind(
        rhs, staging_register=staging_register, mxu_index=mxu_index, transpose=transpose
    )


def matmul_acc_lhs(
    acc_addr: int, lhs: ArrayLike, mxu_index: int, load_staged_rhs: int | None = None
) -> None:
    """Multiplies a left factor by the right factor of a matrix unit, and accumulates.

    Args:
      acc_addr: the address of the accumulators to which the product is added.
      lhs: the left factor.
      mxu_index: the index of the matrix unit.
      load_staged_rhs: the register whose right factor is used from now on; None to use the right
        factor of the previous product.
    """
    matmul_acc_lhs_p.bind(
        lhs, acc_addr=acc_addr, mxu_index=mxu_index, load_staged_rhs=load_staged_rhs
    )


def matmul_pop(acc_addr: int, shape: tuple[int, int], dtype: DTypeLike, mxu_index: int) -> Array:
    """Pops a sum of products from a matrix unit, and sets the accumulators to zero.

    Args:
      acc_addr: the address of the accumulators.
      shape: the shape of the sum.
      dtype: the dtype of the sum.
      mxu_index: the index of the matrix unit.

    Returns:
      An array of the given shape and dtype.
    """
    return matmul_pop_p.bind(
        acc_addr=acc_addr,
        shape=tuple(shape),
        dtype=np.dtype(dtypes.dtype(dtype)),
        mxu_index=mxu_index,
    )
