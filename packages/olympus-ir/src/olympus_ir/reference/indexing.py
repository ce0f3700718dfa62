# SPDX-License-Identifier: Apache-2.0
"""Reference rules of slices, gathers and scatters."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..lax.indexing import gathering, scattering, slicing
from ..lax.indexing.gathering import GatherScatterMode
from ..programs.evaluation import eval_olympuspr
from .tables import reference_rules

define = reference_rules.define


@define(slicing.slice_p)
def _slice(
    x: np.ndarray, *, start_indices: tuple, limit_indices: tuple, strides: tuple | None
) -> np.ndarray:
    strides = strides or (1,) * x.ndim
    return x[tuple(map(slice, start_indices, limit_indices, strides))]


def _fitting_starts(starts: Sequence[Any], sizes: Sequence[int], shape: Sequence[int]) -> list[int]:
    """Clamps start indices, so slices of the given sizes lie within the shape."""
    return [
        min(max(int(start), 0), full - size)
        for start, size, full in zip(starts, sizes, shape, strict=True)
    ]


def _window(starts: Sequence[int], sizes: Sequence[int]) -> tuple[slice, ...]:
    return tuple(slice(start, start + size) for start, size in zip(starts, sizes, strict=True))


@define(slicing.dynamic_slice_p)
def _dynamic_slice(x: np.ndarray, *starts: np.ndarray, slice_sizes: tuple) -> np.ndarray:
    return x[_window(_fitting_starts(starts, slice_sizes, x.shape), slice_sizes)]


@define(slicing.dynamic_update_slice_p)
def _dynamic_update_slice(x: np.ndarray, update: np.ndarray, *starts: np.ndarray) -> np.ndarray:
    result = x.copy()
    result[_window(_fitting_starts(starts, update.shape, x.shape), update.shape)] = update
    return result


# ---- windows at index vectors ----


def _windows(
    indices: np.ndarray,
    index_map: Sequence[int],
    operand_batching_dims: Sequence[int],
    indices_batching_dims: Sequence[int],
    window_sizes: Sequence[int],
    shape: Sequence[int],
    clamps: bool,
) -> Iterator[tuple[tuple[int, ...], tuple[slice, ...] | None]]:
    """Yields for each index vector its batch position and its window.

    A window is an index into the operand, or None if the window extends beyond the operand and is
    not clamped.
    """
    for position in np.ndindex(*indices.shape[:-1]):
        starts = [0] * len(shape)
        for component, dimension in enumerate(index_map):
            starts[dimension] = int(indices[(*position, component)])
        for dimension, indices_dimension in zip(
            operand_batching_dims, indices_batching_dims, strict=True
        ):
            starts[dimension] = position[indices_dimension]
        fitting = _fitting_starts(starts, window_sizes, shape)
        if clamps:
            starts = fitting
        yield position, (_window(starts, window_sizes) if starts == fitting else None)


def _batch_position(position: tuple[int, ...], window_dims: Sequence[int], ndim: int) -> tuple:
    """Returns the index of one window in an array with batch and window dimensions."""
    batch = iter(position)
    return tuple(
        slice(None) if dimension in window_dims else next(batch) for dimension in range(ndim)
    )


@define(gathering.gather_p)
def _gather(
    x: np.ndarray,
    indices: np.ndarray,
    *,
    dimension_numbers: Any,
    slice_sizes: tuple,
    unique_indices: bool,
    indices_are_sorted: bool,
    mode: GatherScatterMode,
    fill_value: Any,
) -> np.ndarray:
    numbers = dimension_numbers
    removed = tuple(sorted((*numbers.collapsed_slice_dims, *numbers.operand_batching_dims)))
    window_shape = [size for axis, size in enumerate(slice_sizes) if axis not in removed]
    ndim = indices.ndim - 1 + len(window_shape)
    sizes, batch = iter(window_shape), iter(indices.shape[:-1])
    shape = [next(sizes) if axis in numbers.offset_dims else next(batch) for axis in range(ndim)]
    result = np.empty(shape, x.dtype)
    for position, window in _windows(
        indices,
        numbers.start_index_map,
        numbers.operand_batching_dims,
        numbers.start_indices_batching_dims,
        slice_sizes,
        x.shape,
        # XLA clamps the windows of gathers, and drops those of scatters, even if they are promised
        # to be in bounds.
        mode in (GatherScatterMode.CLIP, GatherScatterMode.PROMISE_IN_BOUNDS),
    ):
        target = _batch_position(position, numbers.offset_dims, ndim)
        if window is None:
            result[target] = _fill(fill_value, x.dtype)
        else:
            result[target] = x[window].reshape(window_shape)
    return result


def _fill(fill_value: Any, dtype: Any) -> np.ndarray:
    # The elements are raw bytes of an extended dtype.
    if dtype.kind == "V" and dtype.type is np.void:
        return np.frombuffer(b"\xff" * dtype.itemsize, dtype)[0]
    return np.asarray(0 if fill_value is None else fill_value).astype(dtype)


def _scatter_rule(combine: Callable[..., Any] | None) -> Callable[..., np.ndarray]:
    """Returns the rule of a scatter that combines old elements and updates by ``combine``.

    If ``combine`` is None, the program in the parameters combines them. Without a program, updates
    replace elements.
    """

    def rule(
        x: np.ndarray,
        indices: np.ndarray,
        updates: np.ndarray,
        *,
        update_jaxpr: Any,
        update_consts: tuple,
        dimension_numbers: Any,
        indices_are_sorted: bool,
        unique_indices: bool,
        mode: GatherScatterMode,
    ) -> np.ndarray:
        numbers = dimension_numbers
        removed = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        window_sizes = [1] * x.ndim
        window_axes = [axis for axis in range(x.ndim) if axis not in removed]
        for axis, update_axis in zip(window_axes, numbers.update_window_dims, strict=True):
            window_sizes[axis] = updates.shape[update_axis]
        function = combine or _combination(update_jaxpr, update_consts)
        result = x.copy()
        for position, window in _windows(
            indices,
            numbers.scatter_dims_to_operand_dims,
            numbers.operand_batching_dims,
            numbers.scatter_indices_batching_dims,
            window_sizes,
            x.shape,
            mode is GatherScatterMode.CLIP,
        ):
            if window is not None:
                source = _batch_position(position, numbers.update_window_dims, updates.ndim)
                update = updates[source].reshape(window_sizes)
                result[window] = function(result[window], update)
        return result

    return rule


def _combination(update_jaxpr: Any, update_consts: tuple) -> Callable[..., np.ndarray]:
    if update_jaxpr is None:
        return lambda old, update: update

    def combine(old: np.ndarray, update: np.ndarray) -> np.ndarray:
        result = np.empty_like(old)
        for position in np.ndindex(*old.shape):
            elements = (np.asarray(old[position]), np.asarray(update[position]))
            (value,) = eval_olympuspr(update_jaxpr, update_consts, *elements)
            result[position] = np.asarray(value)
        return result

    return combine


define(scattering.scatter_p, _scatter_rule(None))
define(scattering.scatter_add_p, _scatter_rule(np.add))
define(scattering.scatter_sub_p, _scatter_rule(np.subtract))
define(scattering.scatter_mul_p, _scatter_rule(np.multiply))
define(scattering.scatter_min_p, _scatter_rule(np.minimum))
define(scattering.scatter_max_p, _scatter_rule(np.maximum))
