# SPDX-License-Identifier: Apache-2.0
"""Derivatives of the exchange of ragged slices."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.ragged_exchange import covered_rows

from ..tables import jvp_rules, transpose_rules
from ..zeros import Zero, aval_of, instantiate, is_undefined_primal, zeros_like_aval


@jvp_rules.define(lax.ragged_all_to_all_p)
def _ragged_all_to_all_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    """Jvp rule of the exchange, which is jointly linear in operand and output."""
    result = lax.ragged_all_to_all_p.bind(*primals, **params)
    if all(tangent.__class__ is Zero for tangent in tangents[:2]):
        return result, Zero.of(result)
    rows = map(instantiate, tangents[:2])
    return result, lax.ragged_all_to_all_p.bind(*rows, *primals[2:], **params)


@transpose_rules.define(lax.ragged_all_to_all_p)
def _ragged_all_to_all_transpose(
    cotangent: Any,
    operand: Any,
    output: Any,
    input_offsets: Any,
    send_sizes: Any,
    output_offsets: Any,
    recv_sizes: Any,
    *,
    axis_name: tuple,
    axis_index_groups: tuple | None,
) -> list[Any]:
    """Transpose rule: sends the slices back. Rows that are not overwritten keep their cotangent."""

    def exchanged(values: Any) -> Any:
        return lax.all_to_all(
            values, axis_name, 0, 0, axis_index_groups=axis_index_groups, tiled=True
        )

    received_at = exchanged(output_offsets)
    by_operand = by_output = None
    if is_undefined_primal(operand):
        by_operand = lax.ragged_all_to_all(
            cotangent,
            zeros_like_aval(operand.aval),
            received_at,
            recv_sizes,
            exchanged(input_offsets),
            send_sizes,
            axis_name=axis_name,
            axis_index_groups=axis_index_groups,
        )
    if is_undefined_primal(output):
        shape = output.aval.shape
        received = lax.reduce_or(covered_rows(received_at, recv_sizes, shape[0]), (0,))
        received = lax.broadcast_in_dim(received, shape, (0,))
        by_output = lax.select(received, zeros_like_aval(aval_of(cotangent)), cotangent)
    return [by_operand, by_output, None, None, None, None]
