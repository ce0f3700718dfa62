# SPDX-License-Identifier: Apache-2.0
"""Batching of sparse arrays under `vmap`, and of the operands of their primitives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_batching.containers import register_container
from olympus_batching.dimensions import to_front
from olympus_ir import lax
from olympus_ir.trees import pytrees

from ..core.base import SparseInfo

__all__ = ["batched_info", "lead", "map_batches", "without_lead"]


def lead(args: Sequence[Any], batch_dims: Sequence[Any]) -> list[Any]:
    """Moves batch dimensions to the front; unbatched operands get a batch dimension of size 1."""
    return [
        lax.expand_dims(arg, (0,)) if dim is None else to_front(arg, dim)
        for arg, dim in zip(args, batch_dims, strict=True)
    ]


def without_lead(results: Sequence[Any], axis_size: int) -> tuple[list[Any], list[Any]]:
    """Returns results with their batch dimensions: None for a result that all examples share."""
    shared = [out.shape[0] == 1 and axis_size != 1 for out in results]
    return (
        [lax.squeeze(out, (0,)) if is_shared else out for out, is_shared in zip(results, shared)],
        [None if is_shared else 0 for is_shared in shared],
    )


def batched_info(info: SparseInfo, axis_size: int) -> SparseInfo:
    """Returns the static properties of an array with one more batch dimension."""
    return info._replace(shape=(axis_size, *info.shape))


# ---- sparse arrays as arguments and results of `vmap` ----


def _split(array: Any, axis: int) -> tuple[Any, list[int | None]]:
    """Returns a sparse array of the shape of one example, and the mapped axis of each buffer.

    The buffers still hold all examples. The axis of a buffer that all examples share is None.
    """
    name, n_batch = type(array).__name__, array.n_batch
    dim = axis + array.ndim if axis < 0 else axis
    if not 0 <= dim < n_batch:
        raise ValueError(
            f"Cannot map in_axis={axis} for {name} array with {n_batch=}. in_axes for batched "
            f"{name} operations must correspond to a batch dimension."
        )
    buffers, tree = pytrees.tree_flatten(array)
    size = array.shape[dim]
    spread = [buffer.shape[dim] != 1 or size == 1 for buffer in buffers]
    if not any(spread):
        data = buffers[0]
        shape = (*data.shape[:dim], size, *data.shape[dim + 1 :])
        buffers[0] = lax.broadcast_in_dim(data, shape, tuple(range(data.ndim)))
        spread[0] = True
    buffers = [
        buffer if mapped else lax.squeeze(buffer, (dim,))
        for buffer, mapped in zip(buffers, spread, strict=True)
    ]
    shape = (*array.shape[:dim], *array.shape[dim + 1 :])
    example = _with_shape(pytrees.tree_unflatten(tree, buffers), shape)
    return example, [dim if mapped else None for mapped in spread]


def _join(example: Any, axis: int, size: int) -> Any:
    """Returns a sparse array of all examples, with a new batch dimension."""
    name = type(example).__name__
    ndim = len(example.shape) + 1
    dim = axis + ndim if axis < 0 else axis
    n_batch = example.n_batch - 1
    if not 0 <= dim <= n_batch:
        raise ValueError(
            f"{name}: cannot add out_axis={axis} for {name} array with {n_batch=}. {name} batch "
            "axes must be a contiguous block of leading dimensions."
        )
    return _with_shape(example, (*example.shape[:dim], size, *example.shape[dim:]))


def _with_shape(array: Any, shape: tuple[int, ...]) -> Any:
    info = array._info._replace(shape=shape)
    return type(array).tree_unflatten(info._asdict(), array._bufs)


def map_batches(array_type: type) -> None:
    """Lets `vmap` map sparse arrays of a type over their batch dimensions."""
    register_container(array_type, _split, _join)
