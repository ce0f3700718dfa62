# SPDX-License-Identifier: Apache-2.0
"""Batching of callbacks: one call for each example, or one call for all examples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive

from ..callback_calls import call_by_vmap_method, in_a_loop
from ..tables import BatchDim, BatchingRule, batching_rules


def _example(args: Sequence[Any], dims: Sequence[BatchDim], index: int) -> list[Any]:
    """Returns the operands of one example."""
    return [
        arg if dim is None else lax.index_in_dim(arg, index, dim, keepdims=False)
        for arg, dim in zip(args, dims, strict=True)
    ]


def _each_in_turn(primitive: Primitive) -> BatchingRule:
    """Returns the rule that applies the primitive to one example after the other."""

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
    return in_a_loop(lax.io_callback_p, args, batch_dims, {"ordered": ordered, **params}, axis_size)


@batching_rules.define(lax.pure_callback_p)
def _pure_callback(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    return call_by_vmap_method(lax.pure_callback_p, axis_size, args, batch_dims, params)
