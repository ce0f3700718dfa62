# SPDX-License-Identifier: Apache-2.0
"""Reference rules of `reduce_window`, and of selections in windows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..lax.reductions import highest, lowest
from ..lax.windows import reductions
from ..lax.windows.folds import Windows, neutral_element
from ..programs.evaluation import eval_olympuspr
from ..types import dtypes
from .convolution import dilated_and_padded, window_slices
from .numerics import wide_integer, widen
from .tables import reference_rules

define = reference_rules.define


def _elements(x: np.ndarray, fill: Any, geometry: Windows) -> list[np.ndarray]:
    """Returns, for each position within a window, the elements of all windows at that position."""
    padded = dilated_and_padded(
        x, np.asarray(fill).astype(x.dtype), geometry.padding, geometry.base_dilation
    )
    return [
        padded[window_slices(offset, geometry.counts, geometry.strides, geometry.dilation)]
        for offset in geometry.offsets()
    ]


def _window_reduction(
    combine: Callable[[Any, Any], Any], neutral: Callable[[Any], Any]
) -> Callable[..., np.ndarray]:
    """Returns a rule that combines elements in double precision and rounds once."""

    def rule(x: np.ndarray, **window: Any) -> np.ndarray:
        wide = widen(x) if dtypes.issubdtype(x.dtype, np.inexact) else wide_integer(x)
        geometry = Windows(x.shape, **window)
        identity = np.asarray(neutral(x.dtype)).astype(x.dtype).astype(wide.dtype)
        result = np.full(geometry.counts, identity)
        for elements in _elements(wide, identity, geometry):
            result = combine(result, elements)
        return np.asarray(result).astype(x.dtype)

    return rule


define(reductions.reduce_window_sum_p, _window_reduction(np.add, lambda dtype: 0))
define(reductions.reduce_window_max_p, _window_reduction(np.maximum, lowest))
define(reductions.reduce_window_min_p, _window_reduction(np.minimum, highest))


@define(reductions.reduce_window_p)
def _reduce_window(
    *operands_and_inits: np.ndarray, jaxpr: Any, consts: tuple, **window: Any
) -> list[np.ndarray]:
    """Combines the elements one by one, starting from the initial values.

    The reduction skips gaps and padding, as XLA does.
    """
    count = len(operands_and_inits) // 2
    operands, inits = operands_and_inits[:count], operands_and_inits[count:]
    geometry = Windows(operands[0].shape, **window)
    stacked = [
        np.stack(_elements(x, init, geometry)) for x, init in zip(operands, inits, strict=True)
    ]
    inside = [geometry.places(offset) >= 0 for offset in geometry.offsets()]
    results = [np.empty(geometry.counts, init.dtype) for init in inits]
    for index in np.ndindex(*geometry.counts):
        state: Any = inits
        for position in range(stacked[0].shape[0]):
            if not inside[position][index]:
                continue
            elements = [np.asarray(x[(position, *index)]) for x in stacked]
            state = _scalars(jaxpr, *state, *elements)
        for result, value in zip(results, state, strict=True):
            result[index] = value
    return results


def _scalars(closed: Any, *elements: Any) -> list[np.ndarray]:
    return [np.asarray(x) for x in eval_olympuspr(closed.jaxpr, closed.consts, *elements)]


def _selection(select_prim: Any) -> Any:
    return np.greater_equal if select_prim.name == "ge" else np.less_equal


@define(reductions.select_and_gather_add_p)
def _select_and_gather_add(
    tangents: np.ndarray, operand: np.ndarray, *, select_prim: Any, **window: Any
) -> np.ndarray:
    geometry = Windows(operand.shape, **window)
    identity = np.asarray(neutral_element(select_prim, operand.dtype)).astype(operand.dtype)
    best = np.full(geometry.counts, identity)
    result = np.zeros(geometry.counts, tangents.dtype)
    for elements, element_tangents in zip(
        _elements(operand, identity, geometry), _elements(tangents, 0, geometry), strict=True
    ):
        stays = _selection(select_prim)(best, elements)
        best = np.where(stays, best, elements)
        result = np.where(stays, result, element_tangents)
    return result


@define(reductions.select_and_scatter_add_p)
def _select_and_scatter_add(
    source: np.ndarray, operand: np.ndarray, *, select_prim: Any, **window: Any
) -> np.ndarray:
    result = np.zeros(operand.size, widen(source).dtype)
    prefer = _selection(select_prim)
    for position, element in _selected(operand, source, prefer, window):
        result[position] += element
    return result.reshape(operand.shape).astype(operand.dtype)


@define(reductions.select_and_scatter_p)
def _select_and_scatter(
    operand: np.ndarray,
    source: np.ndarray,
    init_value: np.ndarray,
    *,
    select_jaxpr: Any,
    select_consts: tuple,
    scatter_jaxpr: Any,
    scatter_consts: tuple,
    **window: Any,
) -> np.ndarray:
    result = np.full(operand.size, init_value)

    def prefer(best: Any, element: Any) -> bool:
        return bool(_scalars(select_jaxpr, np.asarray(best), np.asarray(element))[0])

    for position, element in _selected(operand, source, prefer, window):
        present = np.asarray(result[position])
        result[position] = _scalars(scatter_jaxpr, present, np.asarray(element))[0]
    return result.reshape(operand.shape)


def _selected(
    operand: np.ndarray, source: np.ndarray, prefer: Callable[[Any, Any], Any], window: Any
) -> list[tuple[int, Any]]:
    """Returns, for each window, the flat index of its selected element and the source's element."""
    geometry = Windows(operand.shape, **window)
    positions = np.stack([geometry.places(offset) for offset in geometry.offsets()])
    flat = operand.reshape(-1)
    found = []
    for window_position in np.ndindex(*geometry.counts):
        selected = -1
        for position in positions[(slice(None), *window_position)]:
            if position >= 0 and (selected < 0 or not prefer(flat[selected], flat[position])):
                selected = int(position)
        if selected >= 0:
            found.append((selected, source[window_position]))
    return found
