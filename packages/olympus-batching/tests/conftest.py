# SPDX-License-Identifier: Apache-2.0
"""Comparison of batched functions with loops, for the tests of batching rules."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from olympus_batching import vmap
from olympus_ir.trees import pytrees

SIZE = 3


def _examples(value: Any) -> list[np.ndarray]:
    """Variations of one operand: as many as there are examples."""
    if isinstance(value, list):  # given one by one
        assert len(value) == SIZE
        return [np.asarray(each) for each in value]
    array = np.asarray(value)
    if array.dtype.kind in "fc":
        return [
            (array * (1 + number) / 2 + number / 4).astype(array.dtype) for number in range(SIZE)
        ]
    return [np.roll(array, number) for number in range(SIZE)]


def _places(ndim: int) -> Sequence[int | None]:
    return (None, 0) if ndim == 0 else (None, 0, ndim) if ndim == 1 else (None, 0, 1, ndim)


def check_against_loop(
    fun: Callable[..., Any], *operands: Any, rtol: float = 1e-5, places: Any = None
) -> None:
    """Asserts, for each way of batching the operands, that `vmap` does what a loop does.

    Args:
      fun: a function of arrays.
      *operands: one example's operands, of which variations are made; or for an operand the list
        of its variations.
      rtol: the relative tolerance.
      places: the batch dimensions to try, one tuple a combination; all combinations if not given.
    """
    examples = [_examples(operand) for operand in operands]
    if places is None:
        places = itertools.product(*[_places(each[0].ndim) for each in examples])
    for dims in places:
        if all(dim is None for dim in dims):
            continue
        batched = [
            each[0] if dim is None else np.stack(each, axis=dim)
            for each, dim in zip(examples, dims, strict=True)
        ]
        found = vmap(fun, in_axes=tuple(dims))(*batched)
        for number in range(SIZE):
            one = [
                each[0 if dim is None else number] for each, dim in zip(examples, dims, strict=True)
            ]
            expected = fun(*one)
            assert pytrees.tree_structure(found) == pytrees.tree_structure(expected)
            for each, leaf in zip(
                pytrees.tree_leaves(found), pytrees.tree_leaves(expected), strict=True
            ):
                assert each.dtype == leaf.dtype, dims
                np.testing.assert_allclose(
                    np.asarray(each)[number],
                    np.asarray(leaf),
                    rtol=rtol,
                    atol=rtol,
                    err_msg=f"in_axes={dims}, example {number}",
                )


@pytest.fixture
def check() -> Callable[..., None]:
    return check_against_loop
