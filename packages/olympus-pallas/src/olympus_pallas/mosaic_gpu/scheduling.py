# SPDX-License-Identifier: Apache-2.0
"""Dynamic scheduling: a block cancels a cluster that has not started, and takes over its work."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray

from ..memory.annotations import RefLike
from ..operations.scoped import run_scoped
from .loops import NDLoopInfo
from .operations import bind_operation, operation
from .primitives import barrier_wait
from .types import SMEM, Barrier, GPUMemoryRef

__all__ = [
    "TryClusterCancelResult",
    "dynamic_scheduling_loop",
    "query_cluster_cancel",
    "try_cluster_cancel",
]

try_cluster_cancel_p = operation("try_cluster_cancel")
query_cluster_cancel_p = operation("query_cluster_cancel")

_ANSWER_BYTES = 16


def TryClusterCancelResult(num_buffers: int | None = None) -> GPUMemoryRef:
    """Returns the description of a buffer for the answer to `try_cluster_cancel`.

    Args:
      num_buffers: the number of buffers; None for one buffer, without a dimension of buffers.

    Returns:
      The description of the buffer, for the scratch buffers of a kernel.

    Example:
      >>> TryClusterCancelResult(2).shape
      (2, 16)
    """
    shape = (_ANSWER_BYTES,) if num_buffers is None else (num_buffers, _ANSWER_BYTES)
    return SMEM(shape, np.int8)


def try_cluster_cancel(result_ref: RefLike, barrier: RefLike) -> None:
    """Cancels a cluster that has not started, and asks for its index.

    All threads of a block must call this function. On simulated threads all clusters run
    concurrently, so there is never a cluster to cancel.

    Args:
      result_ref: buffer for the answer, a `TryClusterCancelResult`.
      barrier: barrier at which the answer arrives.
    """
    bind_operation(try_cluster_cancel_p, (result_ref, barrier))


def query_cluster_cancel(
    result_ref: RefLike, grid_names: Sequence[Hashable]
) -> tuple[tuple[Array, ...], Array]:
    """Returns the answer to `try_cluster_cancel`.

    Args:
      result_ref: the answer.
      grid_names: the axes of the grid along which to return the index.

    Returns:
      The index of the canceled cluster along each axis, and whether a cluster was canceled.
    """
    number = ShapedArray((), np.dtype(np.int32))
    truth = ShapedArray((), np.dtype(np.bool_))
    *place, found = bind_operation(
        query_cluster_cancel_p,
        (result_ref,),
        (*[number] * len(grid_names), truth),
        grid_names=tuple(grid_names),
    )
    return tuple(place), found


def dynamic_scheduling_loop(
    grid_names: Sequence[Hashable],
    thread_axis: Hashable | None = None,
    cluster_axes: Sequence[Hashable] = (),
    init_carry: PyTree = None,
) -> Callable[[Callable[..., Any]], Any]:
    """Runs the decorated function for this block's grid index, then for canceled clusters' indices.

    Args:
      grid_names: the axes of the grid.
      thread_axis: the axis of the block's threads, if the block has several.
      cluster_axes: the axes of the cluster.
      init_carry: initial carry of the loop. If given, the function takes a keyword argument
        ``carry`` and returns the next carry.

    Returns:
      A decorator that runs the loop immediately and returns the last carry. The decorated function
      takes an `NDLoopInfo`.
    """

    def run(body: Callable[..., Any]) -> Any:
        def loop(answer: Any, arrived: Any) -> Any:
            def go_on(state: Any) -> Any:
                return state[2]

            def step(state: Any) -> Any:
                place, number, _, carry = state
                info = NDLoopInfo(place, number, None)
                if init_carry is None:
                    body(info)
                else:
                    carry = body(info, carry=carry)
                try_cluster_cancel(answer, arrived)
                barrier_wait(arrived)
                following, found = query_cluster_cancel(answer, grid_names)
                return following, lax.add(number, np.int32(1)), found, carry

            start = tuple(lax.axis_index(name) for name in grid_names)
            state = (start, np.int32(0), np.bool_(True), init_carry)
            return lax.while_loop(go_on, step, state)[3]

        axes = () if thread_axis is None else (thread_axis,)
        return run_scoped(loop, TryClusterCancelResult(), Barrier(), collective_axes=axes)

    return run
