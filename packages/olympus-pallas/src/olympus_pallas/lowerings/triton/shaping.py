# SPDX-License-Identifier: Apache-2.0
"""Triton lowering of shape operations and contractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_xla.compiling.lowering import mlir

from ...mlir.attributes import i32_array
from ...mlir.building import INT32, KernelLoweringError, element_of, element_type, is_float
from ...mlir.elementwise import cast
from ...mlir.tables import triton_rules
from .builder import TritonBuilder


@triton_rules.define(lax.broadcast_in_dim_p)
def _broadcast_in_dim(
    builder: TritonBuilder,
    x: Any,
    *,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    **params: Any,
) -> Any:
    if not builder.shape_of(x):
        return builder.splat(x, shape) if shape else x
    for dim in range(len(shape)):
        if dim not in broadcast_dimensions:
            x = builder.expand_dims(x, dim)
    return builder.broadcast_to(x, shape)


@triton_rules.define(lax.transpose_p)
def _transpose(builder: TritonBuilder, x: Any, *, permutation: Sequence[int]) -> Any:
    return transpose(builder, x, permutation)


def transpose(builder: TritonBuilder, x: Any, permutation: Sequence[int]) -> Any:
    shape = builder.shape_of(x)
    kind = builder.shaped_type([shape[dim] for dim in permutation], element_of(x))
    return builder.create("tt.trans", kind, (x,), {"order": i32_array(permutation)})


@triton_rules.define(lax.iota_p)
def _iota(
    builder: TritonBuilder, *, dtype: Any, shape: Sequence[int], dimension: int, **params: Any
) -> Any:
    numbers = cast(builder, builder.arange(0, shape[dimension]), INT32, dtype)
    return builder.along(numbers, dimension, shape)


@triton_rules.define(lax.concatenate_p)
def _concatenate(builder: TritonBuilder, *operands: Any, dimension: int) -> Any:
    shapes = [builder.shape_of(operand) for operand in operands]
    shape = builder.aval_out.shape
    if len(operands) != 2 or shapes[0] != shapes[1] or dimension != len(shape) - 1:
        raise KernelLoweringError(
            "lax.concatenate in Triton joins two arrays of the same shape along their last "
            f"dimension, got arrays of shapes {shapes} along dimension {dimension}. Store the "
            "pieces into parts of a reference."
        )
    # Two arrays [..., n] -> [..., n, 2] -> [..., 2, n] -> [..., 2 n]
    rank = len(shape)
    joined_type = builder.shaped_type([*shapes[0], 2], element_of(operands[0]))
    joined = builder.create("tt.join", joined_type, operands)
    return builder.reshape(transpose(builder, joined, [*range(rank - 1), rank, rank - 1]), shape)


@triton_rules.define(lax.split_p)
def _split(builder: TritonBuilder, x: Any, *, sizes: Sequence[int], axis: int) -> list[Any]:
    if len(set(sizes)) > 1 or len(sizes) & (len(sizes) - 1):
        raise KernelLoweringError(
            "lax.split in Triton splits an array into pieces of equal size, whose number is a "
            f"power of two, got pieces of sizes {tuple(sizes)}. Read parts of a reference."
        )
    pieces = [x]
    while len(pieces) < len(sizes):
        pieces = [half for piece in pieces for half in _halves(builder, piece, axis)]
    return pieces


def _halves(builder: TritonBuilder, x: Any, axis: int) -> list[Any]:
    # [..., 2 n, ...] -> [..., 2, n, ...] -> [..., n, ..., 2]
    shape = builder.shape_of(x)
    half = [*shape[:axis], shape[axis] // 2, *shape[axis + 1 :]]
    apart = builder.reshape(x, [*shape[:axis], 2, *half[axis:]])
    order = [dim for dim in range(len(shape) + 1) if dim != axis]
    apart = transpose(builder, apart, [*order, axis])
    kind = builder.shaped_type(half, element_of(x))
    return list(builder.operation("tt.split", [kind, kind], (apart,)).results)


_INPUT_PRECISION_TF32, _INPUT_PRECISION_TF32X3, _INPUT_PRECISION_IEEE = 0, 1, 2


@triton_rules.define(lax.dot_general_p)
def _dot_general(
    builder: TritonBuilder,
    left: Any,
    right: Any,
    *,
    dimension_numbers: Any,
    precision: Any,
    preferred_element_type: Any,
    **params: Any,
) -> Any:
    (left_contracting, right_contracting), (left_batch, right_batch) = dimension_numbers
    left_aval, right_aval = builder.avals_in
    if left_batch or right_batch or left_aval.ndim != 2 or right_aval.ndim != 2:
        raise KernelLoweringError(
            "Triton multiplies two matrices only, got arrays of shapes "
            f"{left_aval.shape} and {right_aval.shape} with {dimension_numbers=}. Loop over "
            "batches, or give the grid one dimension more."
        )
    if tuple(left_contracting) == (0,):
        left = transpose(builder, left, (1, 0))
    if tuple(right_contracting) == (1,):
        right = transpose(builder, right, (1, 0))
    aval = builder.aval_out
    inner = left_aval.shape[left_contracting[0]]
    if min(*aval.shape, inner) < 16:
        raise ValueError(
            "products in Triton need matrices of at least 16 rows and columns, got arrays of "
            f"shapes {left_aval.shape} and {right_aval.shape}. Use larger blocks, or sum products."
        )
    floating = is_float(aval.dtype)
    accumulator = np.dtype(np.int32)
    if floating:
        accumulator = np.dtype(np.float64 if aval.dtype == np.float64 else np.float32)
    operand_dtype = left_aval.dtype
    if left_aval.dtype != right_aval.dtype:
        operand_dtype = accumulator
        left = cast(builder, left, left_aval.dtype, accumulator)
        right = cast(builder, right, right_aval.dtype, accumulator)
    kind = builder.shaped_type(aval.shape, element_type(accumulator))
    zeros = builder.full(0, aval.shape, accumulator)
    attributes = {
        "inputPrecision": mlir.i32(_input_precision(precision, operand_dtype)),
        "maxNumImpreciseAcc": mlir.i32(0),
    }
    product = builder.create("tt.dot", kind, (left, right, zeros), attributes)
    return cast(builder, product, accumulator, aval.dtype)


def _input_precision(precision: Any, dtype: Any) -> int:
    """Returns the precision of the operands of single-precision products."""
    if dtype != np.float32:
        return _INPUT_PRECISION_IEEE
    chosen = precision[0] if isinstance(precision, tuple) else precision
    name = getattr(chosen, "name", chosen) or "DEFAULT"
    exact = {
        "HIGHEST": _INPUT_PRECISION_IEEE,
        "F32_F32_F32": _INPUT_PRECISION_IEEE,
        "HIGH": _INPUT_PRECISION_TF32X3,
        "TF32_TF32_F32_X3": _INPUT_PRECISION_TF32X3,
    }
    return exact.get(str(name).upper(), _INPUT_PRECISION_TF32)
