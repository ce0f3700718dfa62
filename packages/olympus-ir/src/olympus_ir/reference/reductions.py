# SPDX-License-Identifier: Apache-2.0
"""Reference rules of reductions and cumulative operations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..lax import reductions
from ..lax.reductions import highest, lowest
from ..programs.evaluation import eval_olympuspr
from ..types import dtypes
from .numerics import wide_integer, widen
from .tables import reference_rules

define = reference_rules.define


def _accumulate(function: Callable[..., Any]) -> Callable[..., np.ndarray]:
    """Returns a rule that applies NumPy's ``function`` in double precision and rounds once."""

    def rule(x: np.ndarray, *, axes: tuple, out_sharding: Any = None) -> np.ndarray:
        wide = wide_integer(widen(x)) if dtypes.issubdtype(x.dtype, np.integer) else widen(x)
        return np.asarray(function(wide, axis=axes, dtype=wide.dtype)).astype(x.dtype)

    return rule


define(reductions.reduce_sum_p, _accumulate(np.sum))
define(reductions.reduce_prod_p, _accumulate(np.prod))


def _extreme(ufunc: np.ufunc, neutral_element: Callable[[Any], Any]) -> Callable[..., np.ndarray]:
    def rule(x: np.ndarray, *, axes: tuple) -> np.ndarray:
        initial = wide_integer(np.asarray(neutral_element(x.dtype)).astype(x.dtype))[()]
        return np.asarray(ufunc.reduce(wide_integer(x), axis=axes, initial=initial)).astype(x.dtype)

    return rule


define(reductions.reduce_max_p, _extreme(np.maximum, lowest))
define(reductions.reduce_min_p, _extreme(np.minimum, highest))


def _bitwise_reduction(ufunc: np.ufunc) -> Callable[..., np.ndarray]:
    def rule(x: np.ndarray, *, axes: tuple) -> np.ndarray:
        return np.asarray(ufunc.reduce(wide_integer(x), axis=axes)).astype(x.dtype)

    return rule


define(reductions.reduce_and_p, _bitwise_reduction(np.bitwise_and))
define(reductions.reduce_or_p, _bitwise_reduction(np.bitwise_or))
define(reductions.reduce_xor_p, _bitwise_reduction(np.bitwise_xor))


def _comparable(x: np.ndarray) -> np.ndarray:
    """Converts elements to a wider dtype that NumPy can compare."""
    return widen(x) if dtypes.issubdtype(x.dtype, np.inexact) else wide_integer(x)


@define(reductions.argmax_p)
def _argmax(x: np.ndarray, *, axes: tuple, index_dtype: Any) -> np.ndarray:
    return np.asarray(np.argmax(_comparable(x), axis=axes[0])).astype(index_dtype)


@define(reductions.argmin_p)
def _argmin(x: np.ndarray, *, axes: tuple, index_dtype: Any) -> np.ndarray:
    return np.asarray(np.argmin(_comparable(x), axis=axes[0])).astype(index_dtype)


@define(reductions.reduce_p)
def _reduce(
    *operands_and_inits: np.ndarray, computation: Any, jaxpr: Any, dimensions: tuple
) -> list[np.ndarray]:
    """Combines the elements one by one, starting from the initial values."""
    count = len(operands_and_inits) // 2
    operands, inits = operands_and_inits[:count], operands_and_inits[count:]
    remaining_axes = [axis for axis in range(operands[0].ndim) if axis not in dimensions]
    shape = tuple(operands[0].shape[axis] for axis in remaining_axes)
    # [*kept, reduced]
    rows = [np.transpose(x, (*remaining_axes, *dimensions)).reshape(*shape, -1) for x in operands]
    results = [np.broadcast_to(init, shape).copy() for init in inits]
    for index in np.ndindex(*shape):
        state: Sequence[Any] = inits
        for position in range(rows[0].shape[-1]):
            elements = [np.asarray(row[(*index, position)]) for row in rows]
            state = [
                np.asarray(value)
                for value in eval_olympuspr(jaxpr.jaxpr, jaxpr.consts, *state, *elements)
            ]
        for result, value in zip(results, state, strict=True):
            result[index] = value
    return results


def _cumulative(function: Callable[..., np.ndarray]) -> Callable[..., np.ndarray]:
    """Returns a rule, given a function `(x, axis)` that accumulates forward along an axis."""

    def rule(x: np.ndarray, *, axis: int, reverse: bool) -> np.ndarray:
        wide = widen(x) if dtypes.issubdtype(x.dtype, np.inexact) else wide_integer(x)
        if reverse:
            wide = np.flip(wide, axis)
        result = function(wide, axis).astype(x.dtype)
        return np.flip(result, axis) if reverse else result

    return rule


def _cumulative_logsumexp(x: np.ndarray, axis: int) -> np.ndarray:
    reductions.refuse_logarithms_of_integers(x.dtype)
    if x.dtype.kind != "c":
        return np.logaddexp.accumulate(x, axis)
    largest = np.maximum.accumulate(np.real(x), axis)
    rows, tops = np.moveaxis(x, axis, 0), np.moveaxis(largest, axis, 0)
    sums = [
        np.log(np.sum(np.exp(rows[: position + 1] - top), axis=0)) + top
        for position, top in enumerate(tops)
    ]
    return np.moveaxis(np.asarray(sums).reshape(rows.shape), 0, axis)


define(reductions.cumsum_p, _cumulative(lambda x, axis: np.cumsum(x, axis, dtype=x.dtype)))
define(reductions.cumprod_p, _cumulative(lambda x, axis: np.cumprod(x, axis, dtype=x.dtype)))
define(reductions.cummax_p, _cumulative(np.maximum.accumulate))
define(reductions.cummin_p, _cumulative(np.minimum.accumulate))
define(reductions.cumlogsumexp_p, _cumulative(_cumulative_logsumexp))
