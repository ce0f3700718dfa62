# SPDX-License-Identifier: Apache-2.0
"""Batching of callbacks: one call an example, or one call for all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.primitives import Primitive

from ..dimensions import BatchAxis, batched_aval
from ..tables import BatchDim, BatchingRule, all_at, batching_rules, broadcast_batch, to_front


def _example(args: Sequence[Any], dims: Sequence[BatchDim], index: int) -> list[Any]:
    """The operands of one example."""
    return [
        arg if dim is None else lax.index_in_dim(arg, index, dim, keepdims=False)
        for arg, dim in zip(args, dims, strict=True)
    ]


def _each_in_turn(primitive: Primitive) -> BatchingRule:
    """The rule that applies the primitive to one example after the other."""

    def rule(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
        results = [
            primitive.bind(*_example(args, batch_dims, index), **params)
            for index in range(axis_size)
        ]
        outs = [_stacked(values) for values in zip(*results, strict=True)]
        return outs, [0] * len(outs)

    return rule


def _stacked(values: Sequence[Any]) -> Any:
    return lax.concatenate([lax.expand_dims(value, (0,)) for value in values], 0)


batching_rules.define(lax.debug_print_p, _each_in_turn(lax.debug_print_p))
batching_rules.define(lax.debug_callback_p, _each_in_turn(lax.debug_callback_p))


@batching_rules.define(lax.io_callback_p)
def _io_callback(
    axis_size: int, args: Any, batch_dims: Any, *, ordered: bool, **params: Any
) -> Any:
    if ordered:
        raise ValueError(
            "Cannot `vmap` ordered IO callback. Map with lax.map, which calls it for one example "
            "after the other, or make the callback unordered."
        )
    return _in_a_loop(
        lax.io_callback_p, axis_size, args, batch_dims, {"ordered": ordered, **params}
    )


def _in_a_loop(
    primitive: Primitive, axis_size: int, args: Any, batch_dims: Any, params: dict[str, Any]
) -> Any:
    """Applies a primitive to one example after the other, in one loop of the program."""
    batched = [
        to_front(arg, dim) for arg, dim in zip(args, batch_dims, strict=True) if dim is not None
    ]

    def of_one(examples: Any) -> Any:
        remaining = iter(examples)
        operands = [
            arg if dim is None else next(remaining)
            for arg, dim in zip(args, batch_dims, strict=True)
        ]
        return primitive.bind(*operands, **params)

    outs = lax.map(of_one, batched)
    return outs, [0] * len(outs)


@batching_rules.define(lax.pure_callback_p)
def _pure_callback(
    axis_size: int,
    args: Any,
    batch_dims: Any,
    *,
    result_avals: Any,
    vmap_method: str | None,
    **params: Any,
) -> Any:
    everything = {"result_avals": result_avals, "vmap_method": vmap_method, **params}
    if vmap_method == "sequential":
        return _in_a_loop(lax.pure_callback_p, axis_size, args, batch_dims, everything)
    if vmap_method == "sequential_unrolled":
        if axis_size:
            return _each_in_turn(lax.pure_callback_p)(axis_size, args, batch_dims, **everything)
        outs = [lax.full((0, *aval.shape), 0, aval.dtype) for aval in result_avals]
        return outs, [0] * len(outs)
    if vmap_method is None:
        raise NotImplementedError(
            "vmap is only supported for the pure_callback primitive when vmap_method is one of "
            "'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all', or "
            f"'legacy_vectorized'. Got vmap_method={vmap_method}."
        )
    if vmap_method == "broadcast_all":
        operands = all_at(args, axis_size, batch_dims, 0)
    else:
        operands = [to_front(arg, dim) for arg, dim in zip(args, batch_dims, strict=True)]
        if vmap_method == "expand_dims":
            operands = [
                broadcast_batch(operand, 1, 0) if dim is None else operand
                for operand, dim in zip(operands, batch_dims, strict=True)
            ]
    axis = BatchAxis(axis_size)
    everything["result_avals"] = tuple([batched_aval(aval, 0, axis) for aval in result_avals])
    outs = lax.pure_callback_p.bind(*operands, **everything)
    return outs, [0] * len(outs)
