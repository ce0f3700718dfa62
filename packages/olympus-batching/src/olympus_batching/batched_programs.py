# SPDX-License-Identifier: Apache-2.0
"""Batching of programs: turns the olympuspr of one example into the olympuspr of all examples."""

from __future__ import annotations

from collections.abc import Sequence

from olympus_ir.programs.evaluation import olympuspr_as_fun
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.staging import named_axes, trace_to_closed
from olympus_ir.programs.tracing import current
from olympus_ir.settings import config

from .dimensions import BatchAxis, BatchDim, batched_aval, materialize, to_front
from .trace import call_batched


def batch_olympuspr(
    closed: ClosedOlympuspr,
    axis: BatchAxis,
    batched_in: Sequence[bool],
    instantiate: Sequence[bool] | bool = False,
) -> tuple[ClosedOlympuspr, tuple[bool, ...]]:
    """Returns the program that computes all examples at once, with all batch dimensions at 0.

    Args:
      closed: the program on one example.
      axis: the mapped axis.
      batched_in: for each input, whether it differs between the examples.
      instantiate: for each result, or for all, whether it gets a batch dimension even if it does
        not differ between the examples.

    Returns:
      The program, and for each result, whether it has a batch dimension. A call with the same
      arguments returns the same program.
    """
    if isinstance(instantiate, bool):
        instantiate = (instantiate,) * len(closed.out_avals)
    dims = tuple([0 if batched else None for batched in batched_in])
    batched, out_dims = _batched(closed, axis, dims, tuple(instantiate))
    return batched, tuple([dim is not None for dim in out_dims])


def batch_olympuspr_dims(
    closed: ClosedOlympuspr, axis: BatchAxis, in_dims: Sequence[BatchDim]
) -> tuple[ClosedOlympuspr, tuple[BatchDim, ...]]:
    """Returns the program that computes all examples, with batch dimensions chosen by the rules.

    Args:
      closed: the program on one example.
      axis: the mapped axis.
      in_dims: the inputs' batch dimensions.

    Returns:
      The program, and the results' batch dimensions.
    """
    return _batched(closed, axis, tuple(in_dims), None)


def _batched(
    closed: ClosedOlympuspr,
    axis: BatchAxis,
    in_dims: tuple[BatchDim, ...],
    instantiate: tuple[bool, ...] | None,
) -> tuple[ClosedOlympuspr, tuple[BatchDim, ...]]:
    key = ("batch", axis, in_dims, instantiate, current.axes, config.trace_context())
    found = closed.memo.get(key)
    if found is None:
        found = closed.memo[key] = _trace_batched(closed, axis, in_dims, instantiate)
    return found


def _trace_batched(
    closed: ClosedOlympuspr,
    axis: BatchAxis,
    in_dims: tuple[BatchDim, ...],
    instantiate: tuple[bool, ...] | None,
) -> tuple[ClosedOlympuspr, tuple[BatchDim, ...]]:
    out_dims: tuple[BatchDim, ...] = ()
    one_example = olympuspr_as_fun(closed)

    def all_examples(*args: object) -> list[object]:
        nonlocal out_dims
        outs, dims = call_batched(one_example, axis, args, in_dims)
        if instantiate is not None:
            for position, (out, dim) in enumerate(zip(outs, dims, strict=True)):
                if dim is not None:
                    outs[position] = to_front(out, dim)
                    dims[position] = 0
                elif instantiate[position]:
                    outs[position] = materialize(out, axis.size, None)
                    dims[position] = 0
        out_dims = tuple(dims)
        return outs

    in_avals = [
        batched_aval(aval, dim, axis) for aval, dim in zip(closed.in_avals, in_dims, strict=True)
    ]
    batched = trace_to_closed(all_examples, in_avals, closed.debug_info)
    return batched, out_dims


def uses_axis(closed: ClosedOlympuspr, axis: BatchAxis) -> bool:
    """Returns whether a program refers to the axis by its name."""
    return axis.name is not None and axis.name in named_axes(closed.effects)
