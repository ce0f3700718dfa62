# SPDX-License-Identifier: Apache-2.0
"""Batching of reductions and cumulative operations: axes after the batch dimension shift by one."""

from __future__ import annotations

import math
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.reductions import AXIS_REDUCTIONS, CUMULATIVE
from olympus_ir.programs.evaluation import olympuspr_as_fun

from ..tables import (
    BatchAxis,
    all_at,
    all_shifted,
    along_axis,
    batching_rules,
    first_batched,
    reduction,
)
from ..trace import call_batched

for _primitive in AXIS_REDUCTIONS:
    batching_rules.define(_primitive, reduction(_primitive))

for _primitive in CUMULATIVE:
    batching_rules.define(_primitive, along_axis(_primitive))


@batching_rules.define(lax.reduce_p)
def _reduce(
    axis_size: int, args: Any, batch_dims: Any, *, dimensions: Any, jaxpr: Any, **params: Any
) -> Any:
    count = len(args) // 2
    operands, initial = args[:count], args[count:]
    operand_dims, initial_dims = batch_dims[:count], batch_dims[count:]
    if any(dim is not None for dim in initial_dims):
        return _reduce_from_each_start(
            axis_size, operands, operand_dims, initial, initial_dims, dimensions, jaxpr
        )
    dim = first_batched(operand_dims)
    operands = all_at(operands, axis_size, operand_dims, dim)
    dimensions = all_shifted(dimensions, dim)
    outs = lax.reduce_p.bind(*operands, *initial, dimensions=dimensions, jaxpr=jaxpr, **params)
    out_dim = dim - sum([axis < dim for axis in dimensions])
    return outs, [out_dim] * count


def _reduce_from_each_start(
    axis_size: int,
    operands: Any,
    operand_dims: Any,
    initial: Any,
    initial_dims: Any,
    dimensions: Any,
    jaxpr: Any,
) -> Any:
    """Returns a reduction in which each example has its own initial value.

    The compiler's reduction takes only one initial value. A loop therefore combines the examples'
    initial values with the operands, element by element.
    """
    operands = all_at(operands, axis_size, operand_dims, 0)
    remaining_axes = [axis for axis in range(1, operands[0].ndim) if axis - 1 not in dimensions]
    order = (*(axis + 1 for axis in dimensions), 0, *remaining_axes)
    shape = tuple(operands[0].shape[axis] for axis in (0, *remaining_axes))
    count = math.prod(shape)
    length = math.prod(operands[0].shape[axis + 1] for axis in dimensions)
    rows = [lax.reshape(lax.transpose(operand, order), (length, count)) for operand in operands]
    carry = [
        lax.reshape(lax.broadcast_in_dim(value, shape, () if dim is None else (0,)), (count,))
        for value, dim in zip(initial, initial_dims, strict=True)
    ]
    combine_scalars = olympuspr_as_fun(jaxpr)

    def combine(accumulated: Any, row: Any) -> Any:
        values = [*accumulated, *row]
        outs, dims = call_batched(combine_scalars, BatchAxis(count), values, [0] * len(values))
        return all_at(outs, count, dims, 0), None

    outs, _ = lax.scan(combine, carry, rows)
    return [lax.reshape(out, shape) for out in outs], [0] * len(outs)
