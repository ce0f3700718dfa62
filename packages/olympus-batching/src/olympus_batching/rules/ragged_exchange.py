# SPDX-License-Identifier: Apache-2.0
"""Batching of `ragged_all_to_all`, the exchange of slices of different sizes."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.ragged_exchange import exchange_by_gathering

from ..tables import (
    BatchAxis,
    collective_batching_rules,
    define_axis_rule,
    materialize,
)
from ..trace import call_batched
from .collectives import several_axes


def _over_axis(axis: BatchAxis, args: Any, batch_dims: Any, **params: Any) -> Any:
    """Exchanges along the mapped axis by gathers and selections."""
    if params["axis_name"] != (axis.name,):
        raise several_axes("ragged_all_to_all", params["axis_name"], axis)

    def composed(*values: Any) -> list[Any]:
        return [exchange_by_gathering(*values, **params)]

    (out,), (dim,) = call_batched(composed, axis, args, batch_dims)
    return out, dim


def _over_other_axes(axis: BatchAxis, args: Any, batch_dims: Any, **params: Any) -> Any:
    """Exchanges the rows of all examples at once, ordered by example."""
    operand, output = (
        materialize(arg, axis.size, dim) for arg, dim in zip(args[:2], batch_dims[:2], strict=True)
    )
    # Order the slices of all examples by destination, then by slice, then by example.
    input_offsets, send_sizes, output_offsets, recv_sizes = (
        lax.convert_element_type(materialize(arg, axis.size, dim, 1), np.int32)
        for arg, dim in zip(args[2:], batch_dims[2:], strict=True)
    )
    example = lax.broadcasted_iota(np.int32, input_offsets.shape, 1)

    def first_rows(rows: int) -> Any:
        return lax.mul(example, np.int32(rows))

    def flat(values: Any) -> Any:
        return lax.reshape(values, (values.shape[0] * values.shape[1], *values.shape[2:]))

    out = lax.ragged_all_to_all_p.bind(
        flat(operand),
        flat(output),
        flat(lax.add(input_offsets, first_rows(operand.shape[1]))),
        flat(send_sizes),
        flat(lax.add(output_offsets, first_rows(output.shape[1]))),
        flat(recv_sizes),
        **params,
    )
    return lax.reshape(out, output.shape), 0


@define_axis_rule(lax.ragged_all_to_all_p)
def _ragged_all_to_all(axis: BatchAxis, args: Any, batch_dims: Any, **params: Any) -> Any:
    if axis.name is not None and axis.name in params["axis_name"]:
        return _over_axis(axis, args, batch_dims, **params)
    if all(dim is None for dim in batch_dims):
        return lax.ragged_all_to_all_p.bind(*args, **params), None
    return _over_other_axes(axis, args, batch_dims, **params)


collective_batching_rules.define(lax.ragged_all_to_all_p, _over_axis)
