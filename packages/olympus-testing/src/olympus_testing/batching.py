# SPDX-License-Identifier: Apache-2.0
"""Comparison of batched functions with loops."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np

from olympus_ir.trees import pytrees

from .tolerances import assert_close

__all__ = ["check_vmap"]


class Vmap(Protocol):
    """Type of a transformation `vmap(fun, in_axes=..., out_axes=...) -> batched function`."""

    def __call__(self, fun: Callable, /, *, in_axes: Any, out_axes: Any) -> Callable: ...


def check_vmap(
    fun: Callable[..., Any],
    examples: Sequence[Sequence[Any]],
    *,
    vmap: Vmap,
    batchable: Sequence[int] | None = None,
    rtol: float | None = None,
    atol: float | None = None,
) -> None:
    """Compares a batched function with a loop over the batch.

    The check first batches all batchable arguments, then each argument alone, along the first
    dimension and along the last. The batch dimension of the results is moved, too.

    Args:
      fun: a function of arrays.
      examples: one tuple of arguments for each batch element, all of the same shapes and dtypes.
      vmap: the transformation. It is an argument because this package depends on olympus-ir only.
      batchable: the positions of arguments that may be batched; all if None.
      rtol: the relative tolerance; by default the tolerance of the dtype.
      atol: the absolute tolerance, by default ``rtol``.

    Raises:
      AssertionError: results differ.
    """
    for in_axes, out_axis in _ways_to_batch(examples, batchable):
        # An argument that is not batched has the value of the first example.
        rows = [
            [
                value if axis is not None else first
                for value, first, axis in zip(row, examples[0], in_axes, strict=True)
            ]
            for row in examples
        ]
        columns = [list(column) for column in zip(*rows, strict=True)]
        batched_args = [
            column[0] if axis is None else _stack(*column, axis=axis)
            for column, axis in zip(columns, in_axes, strict=True)
        ]
        actual = vmap(fun, in_axes=in_axes, out_axes=out_axis)(*batched_args)
        results = [fun(*row) for row in rows]
        expected = pytrees.tree_map(functools.partial(_stack, axis=out_axis), *results)
        message = f"vmap with in_axes={in_axes}, out_axes={out_axis}"
        assert_close(actual, expected, rtol=rtol, atol=atol, message=message)


def _ways_to_batch(
    examples: Sequence[Sequence[Any]], batchable: Sequence[int] | None
) -> Iterator[tuple[tuple[int | None, ...], int]]:
    count = len(examples[0])
    positions = list(range(count) if batchable is None else batchable)
    choices = [positions] + ([[position] for position in positions] if len(positions) > 1 else [])
    for chosen, (axis, out_axis) in itertools.product(choices, ((0, 0), (-1, 0), (0, -1))):
        if chosen:
            yield tuple(axis if position in chosen else None for position in range(count)), out_axis


def _stack(*values: Any, axis: int) -> np.ndarray:
    return np.stack([np.asarray(value) for value in values], axis)
