# SPDX-License-Identifier: Apache-2.0
"""Batching of foreign calls and callbacks: one call for each example, or one call for all examples.

Primitives such as `pure_callback` and foreign calls have two parameters that matter here. With
``vmap_method`` the user says how the called function can be applied to a batch. ``result_avals``
contains the types of the results for one example.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive

from .dimensions import (
    BatchAxis,
    BatchDim,
    all_at,
    batched_aval,
    broadcast_batch,
    to_front,
)


def call_by_vmap_method(
    primitive: Primitive,
    axis_size: int,
    args: Sequence[Any],
    batch_dims: Sequence[BatchDim],
    params: dict[str, Any],
    **batched_params: Any,
) -> tuple[list[Any], list[BatchDim]]:
    """Calls a primitive for all examples, in the manner that ``vmap_method`` selects.

    Args:
      primitive: the primitive.
      axis_size: the number of examples.
      args: the operands.
      batch_dims: the operands' batch dimensions.
      params: the parameters of a call for one example.
      **batched_params: the parameters that differ in a call for all examples.

    Raises:
      NotImplementedError: the method is None.
    """
    method = params["vmap_method"]
    if method in ("sequential", "sequential_unrolled"):
        unroll = axis_size if method == "sequential_unrolled" else 1
        return in_a_loop(primitive, args, batch_dims, params, axis_size, unroll)
    if method is None:
        raise NotImplementedError(
            f"vmap is only supported for the {primitive.name} primitive when vmap_method is one of "
            "'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all', or "
            f"'legacy_vectorized'. Got vmap_method={method}."
        )
    if method == "broadcast_all":
        operands = all_at(args, axis_size, batch_dims, 0)
    else:
        operands = [to_front(arg, dim) for arg, dim in zip(args, batch_dims, strict=True)]
        if method == "expand_dims":
            operands = [
                broadcast_batch(operand, 1, 0) if dim is None else operand
                for operand, dim in zip(operands, batch_dims, strict=True)
            ]
    axis = BatchAxis(axis_size)
    result_avals = tuple([batched_aval(aval, 0, axis) for aval in params["result_avals"]])
    results = primitive.bind(
        *operands, **{**params, **batched_params, "result_avals": result_avals}
    )
    return results, [0] * len(results)


def in_a_loop(
    primitive: Primitive,
    args: Sequence[Any],
    batch_dims: Sequence[BatchDim],
    params: dict[str, Any],
    axis_size: int,
    unroll: int = 1,
) -> tuple[list[Any], list[BatchDim]]:
    """Calls a primitive once for each example, in a loop that is part of the program."""
    batched = [
        to_front(arg, dim) for arg, dim in zip(args, batch_dims, strict=True) if dim is not None
    ]

    def of_one(_: Any, examples: Any) -> Any:
        remaining = iter(examples)
        operands = [
            arg if dim is None else next(remaining)
            for arg, dim in zip(args, batch_dims, strict=True)
        ]
        return (), primitive.bind(*operands, **params)

    _, results = lax.scan(of_one, (), batched, length=axis_size, unroll=max(unroll, 1))
    return results, [0] * len(results)
