# SPDX-License-Identifier: Apache-2.0
"""Batching of calls: the same call, with the program batched over all examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import close_olympuspr, constants_as_inputs
from olympus_ir.types.placement import NamedSharding, PartitionSpec

from ..batched_programs import batch_olympuspr_dims, uses_axis
from ..tables import BatchAxis, BatchDim, batching_rules, define_axis_rule


@define_axis_rule(lax.jit_p)
def _jit(
    axis: BatchAxis,
    args: Any,
    batch_dims: Any,
    *,
    jaxpr: Any,
    in_shardings: Any,
    out_shardings: Any,
    in_layouts: Any,
    out_layouts: Any,
    **params: Any,
) -> Any:
    if all(dim is None for dim in batch_dims) and not uses_axis(jaxpr, axis):
        batched, out_dims = jaxpr, [None] * len(jaxpr.out_avals)
    else:
        batched, out_dims = batch_olympuspr_dims(jaxpr, axis, batch_dims)
        in_shardings = _with_batch(in_shardings, batch_dims, axis, _batched_sharding)
        out_shardings = _with_batch(out_shardings, out_dims, axis, _batched_sharding)
        in_layouts = _with_batch(in_layouts, batch_dims, axis, _default_layout)
        out_layouts = _with_batch(out_layouts, out_dims, axis, _default_layout)
    outs = lax.jit_p.bind(
        *args,
        jaxpr=batched,
        in_shardings=in_shardings,
        out_shardings=out_shardings,
        in_layouts=in_layouts,
        out_layouts=out_layouts,
        **params,
    )
    return outs, out_dims


def _with_batch(
    placements: Sequence[Any],
    dims: Sequence[BatchDim],
    axis: BatchAxis,
    change: Callable[[Any, int, BatchAxis], Any],
) -> tuple:
    """Returns the placements of batched operands or results, given those of one example.

    ``change(placement, batch_dim, axis)`` returns the batched form of a placement.
    """
    return tuple(
        [
            placement if placement is None or dim is None else change(placement, dim, axis)
            for placement, dim in zip(placements, dims, strict=True)
        ]
    )


def _batched_sharding(sharding: Any, dim: int, axis: BatchAxis) -> Any:
    if not isinstance(sharding, NamedSharding):
        return sharding
    spec = (*sharding.spec, *(None,) * (dim - len(sharding.spec)))
    spec = PartitionSpec(*spec[:dim], axis.spmd_name, *spec[dim:])
    return NamedSharding(sharding.mesh, spec, memory_kind=sharding.memory_kind)


def _default_layout(layout: Any, dim: int, axis: BatchAxis) -> None:
    # A given layout orders the dimensions of one example. The compiler chooses the batched layout.
    return None


@define_axis_rule(lax.closed_call_p)
def _closed_call(
    axis: BatchAxis, args: Any, batch_dims: Any, *, call_jaxpr: Any, **params: Any
) -> Any:
    batched, out_dims = batch_olympuspr_dims(call_jaxpr, axis, batch_dims)
    return lax.closed_call_p.bind(*args, call_jaxpr=batched, **params), out_dims


@define_axis_rule(lax.checkpoint_p)
def _checkpoint(axis: BatchAxis, args: Any, batch_dims: Any, *, jaxpr: Any, **params: Any) -> Any:
    batched, out_dims = batch_olympuspr_dims(close_olympuspr(jaxpr), axis, batch_dims)
    program = constants_as_inputs(batched.jaxpr)
    return lax.checkpoint_p.bind(*batched.consts, *args, jaxpr=program, **params), out_dims


@define_axis_rule(lax.composite_p)
def _composite(axis: BatchAxis, args: Any, batch_dims: Any, *, jaxpr: Any, **params: Any) -> Any:
    """Batching rule of composites, which batches the decomposition."""
    batched, out_dims = batch_olympuspr_dims(jaxpr, axis, batch_dims)
    return eval_olympuspr(batched.jaxpr, batched.consts, *args), out_dims


@batching_rules.define(lax.optimization_barrier_p)
def _optimization_barrier(axis_size: int, args: Any, batch_dims: Any) -> Any:
    return lax.optimization_barrier_p.bind(*args), batch_dims


for _primitive in (lax.custom_jvp_call_p, lax.custom_vjp_call_p):
    batching_rules.exempt(
        _primitive, reason="the batching interpreter has methods of its own for these calls"
    )
