# SPDX-License-Identifier: Apache-2.0
"""Batch dimensions: which dimension of a value holds the examples, and how to move it.

A batch dimension is an index into the shape of the batched value, or None (`not_mapped`) if all
examples share one value.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes, known_types
from olympus_ir.types.avals import AbstractValue, ShapedArray, get_aval
from olympus_ir.types.layouts import (
    entries_of,
    layout_over,
    mesh_in_force,
    with_dimension,
    without_dimension,
)
from olympus_ir.types.placement import NamedSharding, PartitionSpec

BatchDim: TypeAlias = int | None
not_mapped: BatchDim = None


class BatchAxis(NamedTuple):
    """The axis that one `vmap` adds.

    Attributes:
      size: the number of examples.
      name: the name by which collectives refer to the axis, or None.
      spmd_name: the mesh axis or axes over which the examples of sharded values are laid out.
      layout: the mesh and the explicit mesh axes that shard the axis, or None.
    """

    size: int
    name: Any = None
    spmd_name: Any = None
    layout: tuple[Any, Any] | None = None


class _Examples(threading.local):
    """The sharding of the examples in the running batching rule.

    Attributes:
      layout: the mesh and the mesh axes that shard the examples, or None.
      axes: the explicit mesh axes that shard the examples of all running `vmap`s.
      spmd_axes: the mesh axes of ``spmd_axis_name`` of all running `vmap`s.
    """

    layout: tuple[Any, Any] | None = None
    axes: tuple = ()
    spmd_axes: tuple = ()


examples = _Examples()


def batched_sharding(sharding: Any, batch_dim: int) -> Any:
    """Returns the sharding of all examples, given the sharding of one example; None for None."""
    if sharding is None:
        return None
    entry = None if examples.layout is None else examples.layout[1]
    spec = sharding.spec
    entries = spec.partitions + (None,) * (batch_dim - len(spec))
    entries = (*entries[:batch_dim], entry, *entries[batch_dim:])
    return NamedSharding(sharding.mesh, spec.update(partitions=entries))


def _layout_of_examples(shape: tuple, batch_dim: int, value: Any) -> Any:
    """Returns the layout of a value repeated for all examples; None if examples are not sharded."""
    if examples.layout is None:
        return None
    mesh, entry = examples.layout
    around = mesh_in_force()
    if not around.empty and around != mesh:
        return None  # the mesh axes are automatic in the current function
    layout = get_aval(value).layout
    if layout is not None:
        return with_dimension(layout, batch_dim, entry)
    entries: list[Any] = [None] * len(shape)
    entries[batch_dim] = entry
    return layout_over(mesh, entries)


def unbatched_aval(
    aval: AbstractValue, batch_dim: BatchDim, axis_size: int | None = None
) -> AbstractValue:
    """Returns the unbatched type, given the batched type.

    Args:
      aval: the type of all examples.
      batch_dim: the batch dimension, or a specification that a library defines for its own type.
      axis_size: the number of examples, which only types of libraries need.
    """
    if batch_dim is None:
        return aval
    if known_types.is_high(aval):
        return aval.dec_rank(axis_size, batch_dim)  # type: ignore[attr-defined]
    if aval.is_ref:
        return aval.update(inner_aval=unbatched_aval(aval.inner_aval, batch_dim))  # type: ignore[attr-defined]
    assert isinstance(aval, ShapedArray), aval
    shape = aval.shape
    layout = without_dimension(aval.layout, batch_dim)
    return _replaced(aval, shape[:batch_dim] + shape[batch_dim + 1 :], layout)


def batched_aval(aval: AbstractValue, batch_dim: BatchDim, axis: BatchAxis) -> AbstractValue:
    """Returns the batched type, given the unbatched type."""
    if batch_dim is None:
        return aval
    if known_types.is_high(aval):
        return aval.inc_rank(axis.size, batch_dim)  # type: ignore[attr-defined]
    if aval.is_ref:
        return aval.update(inner_aval=batched_aval(aval.inner_aval, batch_dim, axis))  # type: ignore[attr-defined]
    assert isinstance(aval, ShapedArray), aval
    shape = aval.shape
    if axis.layout is None:
        layout = with_dimension(aval.layout, batch_dim, axis.spmd_name)
    else:
        mesh, entry = axis.layout
        entries = entries_of(aval)
        spec = PartitionSpec() if aval.layout is None else aval.layout.spec
        split = (*entries[:batch_dim], entry, *entries[batch_dim:])
        layout = layout_over(mesh, split, spec.unreduced, spec.reduced)
    return _replaced(aval, (*shape[:batch_dim], axis.size, *shape[batch_dim:]), layout)


def _replaced(aval: ShapedArray, shape: tuple, layout: Any) -> ShapedArray:
    """Returns a type of another shape and layout."""
    return ShapedArray.varying(
        shape,
        aval.dtype,
        aval.weak_type,
        vma=aval.vma,
        sharding=layout,
        memory_space=aval.memory_space,
    )


def ndim_of(value: Any) -> int:
    """Returns the number of dimensions of an array, a scalar or a tracer."""
    try:
        return value.ndim
    except AttributeError:
        return get_aval(value).ndim


def shape_of(value: Any) -> tuple[int, ...]:
    """Returns the shape of an array, a scalar or a tracer."""
    try:
        return value.shape
    except AttributeError:
        return get_aval(value).shape


def rank_of(value: Any, batch_dim: BatchDim) -> int:
    """Returns the number of dimensions of one example."""
    return ndim_of(value) - (batch_dim is not None)


def move_dim(value: Any, source: int, target: int) -> Any:
    """Returns the value with one dimension moved to another position."""
    ndim = ndim_of(value)
    source, target = source % ndim, target % ndim
    if source == target:
        return value
    if get_aval(value).is_ref:
        raise ValueError(
            f"control flow and calls under vmap need a reference to be mapped over axis 0 (or, "
            f"where a scan runs over it, axis 1), and it is mapped over axis {source}: "
            f"{get_aval(value)}."
        )
    permutation = [dim for dim in range(ndim) if dim != source]
    permutation.insert(target, source)
    return lax.transpose(value, tuple(permutation))


def broadcast_batch(value: Any, axis_size: int, target: int) -> Any:
    """Returns the value of all examples, repeated along a new dimension ``target``."""
    shape = shape_of(value)
    target %= len(shape) + 1
    dims = (*range(target), *range(target + 1, len(shape) + 1))
    new_shape = (*shape[:target], axis_size, *shape[target:])
    if getattr(value, "dtype", None) == dtypes.float0:  # tangents of integers have no data
        return np.zeros(new_shape, dtypes.float0)
    layout = None if examples.layout is None else _layout_of_examples(new_shape, target, value)
    return lax.broadcast_in_dim(value, new_shape, dims, out_sharding=layout)


def materialize(value: Any, axis_size: int, batch_dim: BatchDim, target: int = 0) -> Any:
    """Returns the value with its batch dimension at ``target``; broadcasts unbatched values."""
    if batch_dim is None:
        return broadcast_batch(value, axis_size, target)
    return move_dim(value, batch_dim, target)


def move_batch_dim(
    value: Any, axis_size: int, source: BatchDim, target: BatchDim, operation: str = "the value"
) -> Any:
    """Returns the value with its batch dimension moved from ``source`` to ``target``.

    Raises:
      ValueError: ``target`` is None and the value is batched.
    """
    if source == target:
        return value
    if target is None:
        raise ValueError(f"{operation} differs between the examples, so it needs a batch dimension")
    return materialize(value, axis_size, source, target)


def to_front(value: Any, batch_dim: BatchDim) -> Any:
    """Returns a value with its batch dimension first. Leaves unbatched values unchanged."""
    return value if batch_dim is None or batch_dim == 0 else move_dim(value, batch_dim, 0)


def all_at(args: Sequence[Any], axis_size: int, dims: Sequence[BatchDim], target: int) -> list[Any]:
    """Returns all values with a batch dimension at ``target``."""
    return [
        arg if dim == target else materialize(arg, axis_size, dim, target)
        for arg, dim in zip(args, dims, strict=True)
    ]


def first_batched(dims: Sequence[BatchDim]) -> int:
    """Returns the batch dimension of the first operand that has one."""
    for dim in dims:
        if dim is not None:
            return dim
    raise ValueError("none of the operands is batched")


def shifted(dim: int, batch_dim: int) -> int:
    """Returns the batched value's dimension that matches dimension ``dim`` of one example."""
    return dim + (dim >= batch_dim)


def all_shifted(dims: Sequence[int], batch_dim: int) -> tuple[int, ...]:
    """Returns the batched value's dimensions that match dimensions ``dims`` of one example."""
    return tuple([dim + (dim >= batch_dim) for dim in dims])
