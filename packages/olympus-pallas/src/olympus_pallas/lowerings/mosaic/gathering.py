# SPDX-License-Identifier: Apache-2.0
"""Mosaic lowering of gathers along one dimension."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ...mlir.attributes import i32_array
from ...mlir.building import INT32, KernelLoweringError
from ...mlir.elementwise import cast
from ...mlir.tables import mosaic_rules
from .builder import MosaicBuilder


@mosaic_rules.define(lax.gather_p)
def _gather(
    builder: MosaicBuilder,
    x: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: Sequence[int],
    mode: Any,
    fill_value: Any,
    **params: Any,
) -> Any:
    aval, index_aval = builder.avals_in
    out = builder.aval_out
    axes = dimension_numbers.start_index_map
    others = tuple(dim for dim in range(len(aval.shape)) if dim not in axes)
    along_one = (
        len(axes) == 1
        and tuple(dimension_numbers.collapsed_slice_dims) == tuple(axes)
        and tuple(dimension_numbers.operand_batching_dims) == others
        and tuple(dimension_numbers.start_indices_batching_dims) == others
        and all(size == 1 for size in slice_sizes)
        and index_aval.shape == (*out.shape, 1)
    )
    if not along_one:
        raise KernelLoweringError(
            "Mosaic gathers elements along one dimension only, as jnp.take_along_axis does; got "
            f"a gather of {aval.str_short()} at indices {index_aval.str_short()} with "
            f"{dimension_numbers}. Loop over the indices, and read references."
        )
    (axis,) = axes
    positions = builder.reshape(indices, out.shape)
    positions = cast(builder, positions, np.dtype(index_aval.dtype), INT32)
    clamped = positions
    if mode is not lax.GatherScatterMode.PROMISE_IN_BOUNDS:
        zero = builder.full(0, out.shape, INT32)
        last = builder.full(aval.shape[axis] - 1, out.shape, INT32)
        clamped = builder.binary(
            "arith.minsi", builder.binary("arith.maxsi", positions, zero), last
        )
    kind = builder.value_type(out)
    attributes = {"dimensions": i32_array((axis,))}
    result = builder.create("tpu.dynamic_gather", kind, (x, clamped), attributes)
    if mode is not lax.GatherScatterMode.FILL_OR_DROP:
        return result
    inside = builder.compare(0, positions, clamped)
    fill = builder.full(np.nan if fill_value is None else fill_value, out.shape, out.dtype)
    return builder.create("arith.select", kind, (inside, result, fill))
