# SPDX-License-Identifier: Apache-2.0
"""Mosaic lowering of shape operations and contractions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_xla.compiling.lowering import mlir

from ...mlir.attributes import i32_array
from ...mlir.building import INT32, KernelLoweringError, element_of, element_type, is_float
from ...mlir.elementwise import cast
from ...mlir.tables import mosaic_rules
from .builder import MosaicBuilder


@mosaic_rules.define(lax.broadcast_in_dim_p)
def _broadcast_in_dim(
    builder: MosaicBuilder,
    x: Any,
    *,
    shape: Sequence[int],
    broadcast_dimensions: Sequence[int],
    **params: Any,
) -> Any:
    if not shape:
        return x
    old_shape = builder.shape_of(x)
    if old_shape:
        expanded = [1] * len(shape)
        for dim, size in zip(broadcast_dimensions, old_shape, strict=True):
            expanded[dim] = size
        leading = len(shape) - len(old_shape)
        if tuple(broadcast_dimensions) != tuple(range(leading, len(shape))):
            x = builder.reshape(x, expanded)
    return builder.broadcast_to(x, shape)


@mosaic_rules.define(lax.transpose_p)
def _transpose(builder: MosaicBuilder, x: Any, *, permutation: Sequence[int]) -> Any:
    attributes = {"permutation": mlir.i64_array(permutation)}
    return builder.create("tpu.transpose", builder.value_type(builder.aval_out), (x,), attributes)


@mosaic_rules.define(lax.iota_p)
def _iota(
    builder: MosaicBuilder, *, dtype: Any, shape: Sequence[int], dimension: int, **params: Any
) -> Any:
    if len(shape) < 2:
        # ``tpu.iota`` makes arrays of at least two dimensions, so its result is reshaped.
        kind = builder.shaped_type((1, *shape), element_type(INT32))
        numbers = builder.create("tpu.iota", kind, (), {"dimensions": i32_array((1,))})
        numbers = builder.reshape(numbers, shape)
    else:
        kind = builder.shaped_type(shape, element_type(INT32))
        numbers = builder.create("tpu.iota", kind, (), {"dimensions": i32_array((dimension,))})
    return cast(builder, numbers, INT32, dtype)


def _i64_attributes(values: Sequence[int]) -> Any:
    return mlir.array([mlir.i64(int(value)) for value in values])


@mosaic_rules.define(lax.slice_p)
def _slice(
    builder: MosaicBuilder,
    x: Any,
    *,
    start_indices: Sequence[int],
    limit_indices: Sequence[int],
    strides: Sequence[int] | None,
) -> Any:
    if strides is not None and any(stride != 1 for stride in strides):
        raise KernelLoweringError(
            "slices with strides of values have no Mosaic form; read a reference with "
            "ref[ds(start, size, stride)]"
        )
    sizes = [limit - start for start, limit in zip(start_indices, limit_indices, strict=True)]
    attributes = {
        "offsets": _i64_attributes(start_indices),
        "sizes": _i64_attributes(sizes),
        "strides": _i64_attributes([1] * len(sizes)),
    }
    kind = builder.value_type(builder.aval_out)
    return builder.create("vector.extract_strided_slice", kind, (x,), attributes)


@mosaic_rules.define(lax.concatenate_p)
def _concatenate(builder: MosaicBuilder, *operands: Any, dimension: int) -> Any:
    return _joined(builder, operands, dimension)


def _joined(builder: MosaicBuilder, pieces: Sequence[Any], axis: int) -> Any:
    """Concatenates arrays."""
    if len(pieces) == 1:
        return pieces[0]
    shapes = [builder.shape_of(piece) for piece in pieces]
    shape = list(shapes[0])
    shape[axis] = sum(own[axis] for own in shapes)
    kind = builder.shaped_type(shape, element_of(pieces[0]))
    return builder.create("tpu.concatenate", kind, pieces, {"dimension": mlir.i32(axis)})


@mosaic_rules.define(lax.stack_p)
def _stack(builder: MosaicBuilder, *operands: Any, axis: int) -> Any:
    shape = list(builder.aval_out.shape)
    shape[axis] = 1
    return _joined(builder, [builder.reshape(operand, shape) for operand in operands], axis)


@mosaic_rules.define(lax.tile_p)
def _tile(builder: MosaicBuilder, x: Any, *, reps: Sequence[int]) -> Any:
    for axis, count in enumerate(reps):
        x = _joined(builder, [x] * count, axis)
    return x


@mosaic_rules.define(lax.pad_p)
def _pad(builder: MosaicBuilder, x: Any, value: Any, *, padding_config: Any) -> Any:
    for axis, (low, high, interior) in enumerate(padding_config):
        if min(low, high) < 0 or interior:
            raise KernelLoweringError(
                "Mosaic pads at the ends of dimensions only, by nonnegative numbers, got "
                f"{(low, high, interior)} for dimension {axis}"
            )

        shape = list(builder.shape_of(x))
        pieces = [x]
        for size, position in ((low, 0), (high, 2)):
            if size:
                border = builder.broadcast_to(value, [*shape[:axis], size, *shape[axis + 1 :]])
                pieces.insert(position, border)
        x = _joined(builder, pieces, axis)
    return x


@mosaic_rules.define(lax.split_p)
def _split(builder: MosaicBuilder, x: Any, *, sizes: Sequence[int], axis: int) -> list[Any]:
    pieces, start = [], 0
    shape = builder.shape_of(x)
    for size in sizes:
        starts, lengths = [0] * len(shape), list(shape)
        starts[axis], lengths[axis] = start, size
        attributes = {
            "offsets": _i64_attributes(starts),
            "sizes": _i64_attributes(lengths),
            "strides": _i64_attributes([1] * len(shape)),
        }
        kind = builder.shaped_type(lengths, element_of(x))
        pieces.append(builder.create("vector.extract_strided_slice", kind, (x,), attributes))
        start += size
    return pieces


@mosaic_rules.define(lax.dot_general_p)
def _dot_general(
    builder: MosaicBuilder,
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
    if len(left_contracting) != 1 or left_aval.ndim < 2 or right_aval.ndim < 2:
        raise KernelLoweringError(
            "Mosaic multiplies matrices only, along one dimension, got arrays of shapes "
            f"{left_aval.shape} and {right_aval.shape} with {dimension_numbers=}. Multiply and "
            "sum, or reshape."
        )
    aval = builder.aval_out
    floating = is_float(aval.dtype)
    accumulator = np.dtype(np.float32 if floating else np.int32)
    if left_aval.dtype != right_aval.dtype:
        left = cast(builder, left, left_aval.dtype, accumulator)
        right = cast(builder, right, right_aval.dtype, accumulator)

    def free(ndim: int, *bound: Sequence[int]) -> list[int]:
        return [dim for dim in range(ndim) if not any(dim in dims for dims in bound)]

    left_free = free(left_aval.ndim, left_contracting, left_batch)
    right_free = free(right_aval.ndim, right_contracting, right_batch)
    order = [
        *(number for dim in left_batch for number in (0, dim)),
        *(number for dim in left_free for number in (0, dim)),
        *(number for dim in right_free for number in (1, dim)),
    ]
    fields = [left_contracting, right_contracting, left_free, right_free, order]
    fields += [left_batch, right_batch]
    text = ", ".join(str(list(field)) for field in fields)
    attributes = {
        "dimension_numbers": mlir.parsed(f"#tpu.dot_dimension_numbers<{text}>"),
        "transpose_lhs_hint": mlir.boolean(False),
    }
    chosen = precision[0] if isinstance(precision, tuple) else precision
    if floating and getattr(chosen, "name", "") == "HIGHEST":
        attributes["precision"] = mlir.parsed("#tpu.contract_precision<fp32>")
    kind = builder.shaped_type(aval.shape, element_type(accumulator))
    zeros = builder.full(0, aval.shape, accumulator)
    product = builder.create("tpu.matmul", kind, (left, right, zeros), attributes)
    return cast(builder, product, accumulator, aval.dtype)
