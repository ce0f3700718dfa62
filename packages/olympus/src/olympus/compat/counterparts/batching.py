# SPDX-License-Identifier: Apache-2.0
"""Batching of programs and of single operations, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from olympus_batching import batched_programs, vmappables
from olympus_batching.dimensions import BatchAxis, BatchDim, batched_aval, move_batch_dim
from olympus_batching.trace import call_batched
from olympus_ir.programs.evaluation import olympuspr_as_fun
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed

__all__ = [
    "AxisData",
    "NotMapped",
    "batch_olympuspr",
    "batch_olympuspr2",
    "batch_olympuspr_axes",
    "make_iota",
    "matchaxis",
    "reducer_batcher",
    "to_elt",
    "vectorized_batcher",
]

NotMapped = type(None)


@dataclass(frozen=True)
class AxisData:
    """The axis that a `vmap` adds.

    Attributes:
      name: the name, or None.
      size: the number of examples.
      spmd_name: the mesh axes over which the examples are laid out, or None.
      explicit_mesh_axis: the explicit mesh axes that shard the axis, or None.
    """

    name: Any
    size: Any
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


def _axis(axis_data: Any) -> BatchAxis:
    return BatchAxis(axis_data.size, axis_data.name, axis_data.spmd_name)


def batch_olympuspr(
    closed_jaxpr: ClosedOlympuspr,
    axis_data: AxisData,
    in_batched: Sequence[bool],
    instantiate: bool | Sequence[bool],
) -> tuple[ClosedOlympuspr, list[bool]]:
    """Batches a program; batch dimensions are at position 0.

    Args:
      closed_jaxpr: the unbatched program.
      axis_data: the axis.
      in_batched: for each input, whether it is batched.
      instantiate: for each result, or for all, whether to add a batch dimension if the result lacks
        one.

    Returns:
      The program, and for each result, whether it has a batch dimension.
    """
    wanted = instantiate if isinstance(instantiate, bool) else tuple(instantiate)
    batched, out_batched = batched_programs.batch_olympuspr(
        closed_jaxpr, _axis(axis_data), tuple(in_batched), wanted
    )
    return batched, list(out_batched)


def batch_olympuspr2(
    closed_jaxpr: ClosedOlympuspr, axis_data: AxisData, in_axes: Sequence[BatchDim]
) -> tuple[ClosedOlympuspr, tuple[BatchDim, ...]]:
    """Returns the program of all examples, and the batch dimensions of its results."""
    return batched_programs.batch_olympuspr_dims(closed_jaxpr, _axis(axis_data), tuple(in_axes))


def batch_olympuspr_axes(
    closed_jaxpr: ClosedOlympuspr,
    axis_data: AxisData,
    in_axes: Sequence[BatchDim],
    out_axes_dest: Sequence[BatchDim],
) -> tuple[ClosedOlympuspr, list[bool]]:
    """Returns the program of all examples, whose results have given batch dimensions.

    Returns:
      The program, and for each result, whether it has a batch dimension.
    """
    axis = _axis(axis_data)
    one_example = olympuspr_as_fun(closed_jaxpr)

    def placed(*operands: Any) -> list[Any]:
        return _placed(*call_batched(one_example, axis, operands, in_axes), axis, out_axes_dest)

    in_avals = [
        batched_aval(aval, dim, axis)
        for aval, dim in zip(closed_jaxpr.in_avals, in_axes, strict=True)
    ]
    batched = trace_to_closed(placed, in_avals, closed_jaxpr.debug_info)
    return batched, [dim is not None for dim in out_axes_dest]


def _placed(
    outs: Sequence[Any], dims: Sequence[BatchDim], axis: BatchAxis, targets: Sequence[BatchDim]
) -> list[Any]:
    return [
        move_batch_dim(out, axis.size, dim, target, "a result")
        for out, dim, target in zip(outs, dims, targets, strict=True)
    ]


def matchaxis(
    axis_data: AxisData, src: BatchDim, dst: BatchDim, x: Any, sum_match: bool = False
) -> Any:
    """Moves a batch dimension, or adds one.

    Args:
      axis_data: the axis.
      src: the batch dimension of the value, or None.
      dst: the requested batch dimension, or None for a value without one.
      x: the value.
      sum_match: whether to sum over the batch dimension if ``dst`` is None.

    Raises:
      ValueError: the value has a batch dimension, ``dst`` is None, and ``sum_match`` is False.
    """
    if src is not None and dst is None and sum_match:
        return x.sum(src)
    return move_batch_dim(x, axis_data.size, src, dst)


def make_iota(axis_size: Any) -> Any:
    """Returns the numbers of the examples.

    Args:
      axis_size: the number of examples, or a library's value that specifies it.

    Example:
      >>> make_iota(3)
      Array([0, 1, 2], dtype=int32)
    """
    return vmappables.numbers(axis_size)


def to_elt(trace: Any, get_idx: Any, x: Any, spec: Any) -> Any:
    """Returns one example of a value.

    Args:
      trace: the trace of the `vmap`.
      get_idx: returns the number of the example.
      x: an array, or a container of a class that `register_vmappable` has registered.
      spec: the position of the batch dimension, None for a value without one, or the container's
        specification.
    """
    return vmappables.element(trace, get_idx, x, spec)


def vectorized_batcher(
    prim: Primitive,
    axis_data: AxisData,
    batched_args: Sequence[Any],
    batch_dims: Sequence[BatchDim],
    **params: Any,
) -> tuple[Any, Any]:
    """Batching rule of a primitive that treats all dimensions alike.

    Args:
      prim: the primitive.
      axis_data: the axis.
      batched_args: the operands of all examples, with equal batch dimensions.
      batch_dims: their batch dimensions.
      **params: the parameters.

    Returns:
      The result or results, and their batch dimensions.

    Raises:
      ValueError: the batch dimensions differ.
    """
    if len(set(batch_dims)) != 1:
        raise ValueError(f"{prim.name} needs operands with equal batch dimensions: {batch_dims}")
    results = prim.bind(*batched_args, **params)
    dim = batch_dims[0]
    return results, [dim] * len(results) if prim.multiple_results else dim


def reducer_batcher(
    prim: Primitive,
    axis_data: AxisData,
    batched_args: Sequence[Any],
    batch_dims: Sequence[BatchDim],
    axes: Sequence[int],
    **params: Any,
) -> tuple[Any, Any]:
    """Batching rule of a primitive that reduces one operand along the axes in ``axes``."""
    (operand,), (dim,) = batched_args, batch_dims
    if dim is None:
        raise ValueError(f"{prim.name} needs an operand with a batch dimension")
    moved = tuple(axis + (axis >= dim) for axis in axes)
    results = prim.bind(operand, axes=moved, **params)
    place = dim - sum(axis < dim for axis in moved)
    return results, [place] * len(results) if prim.multiple_results else place
