# SPDX-License-Identifier: Apache-2.0
"""Operations on windows, computed for one window position at a time.

The compiler's operations on windows are faster, but do not cover all cases. Examples are
derivatives and batches of user-defined reductions, and cotangents of extrema over dilated windows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...programs.evaluation import olympuspr_as_fun
from ..control_flow import scan
from ..core.values import Array, ArrayLike, dtype_of, shape_of
from ..elementwise.arithmetic import add
from ..elementwise.logic import bitwise_and, bitwise_not, bitwise_or, eq, ge, lt, select_n
from ..indexing.gathering import index_take
from ..indexing.slicing import dynamic_index_in_dim, dynamic_update_index_in_dim, slice
from ..reductions import highest, lowest
from ..shaping.broadcasting import broadcast_in_dim
from ..shaping.creation import full
from ..shaping.rearrangement import pad, reshape
from .shapes import dilated_size, window_counts

__all__: list[str] = []

# Windows with more elements are processed in a loop, which keeps programs small.
_LARGEST_WRITTEN_OUT = 32

# A transformation from a function of scalars to a function of vectors.
Vectorize = Callable[[Callable[..., Any]], Callable[..., Any]]


class Windows:
    """The windows of an array of a given shape.

    Args:
      shape: the array's shape.
      window_dimensions: the sizes of a window.
      window_strides: the distance between windows in each dimension.
      padding: a pair (before, after) for each dimension.
      base_dilation: the distance between neighboring elements of the array.
      window_dilation: the distance between neighboring elements of a window.

    Attributes:
      counts: the number of windows along each dimension.
    """

    def __init__(
        self,
        shape: Sequence[int],
        window_dimensions: Sequence[int],
        window_strides: Sequence[int],
        padding: Sequence[tuple[int, int]],
        base_dilation: Sequence[int] | None = None,
        window_dilation: Sequence[int] | None = None,
    ) -> None:
        ones = (1,) * len(shape)
        self.shape = tuple(shape)
        self.dimensions = window_dimensions
        self.strides = window_strides
        self.padding = padding
        self.base_dilation = ones if base_dilation is None else base_dilation
        self.dilation = ones if window_dilation is None else window_dilation
        self.counts = window_counts(
            shape, window_dimensions, window_strides, padding, self.base_dilation, self.dilation
        )

    def offsets(self) -> Any:
        """Returns the positions within a window, in row-major order."""
        return np.ndindex(*self.dimensions)

    def padded(self, operand: ArrayLike, fill: ArrayLike) -> Array:
        """Returns the array with gaps between elements and padding, both filled with ``fill``."""
        return pad(
            operand,
            fill,
            [
                (low, high, step - 1)
                for (low, high), step in zip(self.padding, self.base_dilation, strict=True)
            ],
        )

    def elements(self, padded: Array, offset: Sequence[int]) -> Array:
        """Returns the elements of a padded array at one offset within all windows."""
        starts = [place * step for place, step in zip(offset, self.dilation, strict=True)]
        limits = [
            start + (count - 1) * stride + 1 if count else start
            for start, count, stride in zip(starts, self.counts, self.strides, strict=True)
        ]
        if 0 in self.counts:
            return full(self.counts, 0, dtype_of(padded))
        return slice(padded, starts, limits, self.strides)

    def spread(self, elements: Array, offset: Sequence[int]) -> Array:
        """Applies the transpose of `elements`.

        The result has the padded shape, with zeros at the other positions.
        """
        config = []
        for size, base, (low, high), place, step, count, stride in zip(
            self.shape,
            self.base_dilation,
            self.padding,
            offset,
            self.dilation,
            self.counts,
            self.strides,
            strict=True,
        ):
            start = place * step
            total = dilated_size(size, base) + low + high
            config.append((start, total - start - dilated_size(count, stride), stride - 1))
        return pad(elements, np.zeros((), dtype_of(elements)), config)

    def unpadded(self, padded: Array) -> Array:
        """Applies the transpose of `padded`, which removes gaps and padding."""
        inner = pad(
            padded,
            np.zeros((), dtype_of(padded)),
            [(-low, -high, 0) for low, high in self.padding],
        )
        if all(step == 1 for step in self.base_dilation):
            return inner
        shape = shape_of(inner)
        return slice(inner, (0,) * len(shape), shape, self.base_dilation)

    def padded_positions(self, padded_shape: Sequence[int]) -> np.ndarray:
        """Returns flat indices of the windows' elements in the padded array.

        The result has one row for each position within a window.
        """
        starts = np.indices(self.counts).reshape(len(self.counts), 1, -1)
        offsets = np.indices(tuple(self.dimensions)).reshape(len(self.counts), -1, 1)
        steps, strides = (np.reshape(x, (-1, 1, 1)) for x in (self.dilation, self.strides))
        positions = tuple(starts * strides + offsets * steps)
        return np.asarray(np.ravel_multi_index(positions, tuple(padded_shape)), np.int32)

    def places(self, offset: Sequence[int]) -> np.ndarray:
        """Returns the flat indices of the elements at one offset within all windows.

        The index is -1 in gaps and padding.
        """
        places = np.zeros(self.counts, np.int64)
        inside = np.ones(self.counts, bool)
        for axis, (size, place, count) in enumerate(
            zip(self.shape, offset, self.counts, strict=True)
        ):
            along = np.arange(count) * self.strides[axis] + place * self.dilation[axis]
            along = along - self.padding[axis][0]
            step = self.base_dilation[axis]
            legal = (along >= 0) & (along < dilated_size(size, step)) & (along % step == 0)
            vector = [1] * len(self.shape)
            vector[axis] = count
            places = places * size + (along // step).reshape(vector)
            inside = inside & legal.reshape(vector)
        return np.where(inside, places, -1).astype(np.int32)


def fold_windows(
    vectorize: Vectorize, *operands_and_inits: Any, jaxpr: Any, consts: tuple, **window: Any
) -> list[Array]:
    """Computes `reduce_window`, one position within the windows at a time.

    Gaps and padding take no part in the reduction, as in XLA.
    """
    count = len(operands_and_inits) // 2
    operands, inits = operands_and_inits[:count], operands_and_inits[count:]
    windows = Windows(shape_of(operands[0]), **window)
    padded = [windows.padded(x, init) for x, init in zip(operands, inits, strict=True)]
    size = math.prod(windows.counts)
    combine = vectorize(olympuspr_as_fun(jaxpr))
    state = [broadcast_in_dim(init, (size,), ()) for init in inits]
    if math.prod(windows.dimensions) > _LARGEST_WRITTEN_OUT and size:
        flat = [reshape(x, (math.prod(shape_of(x)),)) for x in padded]

        def step(state: Any, position: Any) -> Any:
            places, inside = position
            elements = [index_take(x, (places,), (0,)) for x in flat]
            new = combine(*state, *elements)
            return [select_n(inside, *pair) for pair in zip(state, new, strict=True)], None

        inside = np.stack([windows.places(offset) >= 0 for offset in windows.offsets()])
        positions = windows.padded_positions(shape_of(padded[0])), inside.reshape(-1, size)
        state, _ = scan(step, state, positions)
    else:
        for offset in windows.offsets():
            elements = [reshape(windows.elements(x, offset), (size,)) for x in padded]
            new = combine(*state, *elements)
            inside = windows.places(offset).reshape(size) >= 0
            if not inside.all():
                new = [select_n(inside, *pair) for pair in zip(state, new, strict=True)]
            state = new
    return [reshape(x, windows.counts) for x in state]


def add_to_extrema(source: ArrayLike, operand: ArrayLike, select_prim: Any, **window: Any) -> Array:
    """Applies the transpose of `select_and_gather_add` in its first operand."""
    windows = Windows(shape_of(operand), **window)
    dtype = dtype_of(operand)
    identity = np.asarray(neutral_element(select_prim, dtype)).astype(dtype)
    padded = windows.padded(operand, identity)
    best = full(windows.counts, identity)
    selected = full(windows.counts, np.int32(-1))
    offsets = list(windows.offsets())
    for index, offset in enumerate(offsets):
        elements = windows.elements(padded, offset)
        stays = select_prim.bind(best, elements)
        best = select_n(stays, elements, best)
        selected = select_n(stays, full(windows.counts, np.int32(index)), selected)
    zeros = full(windows.counts, np.zeros((), dtype_of(source)))
    total = None
    for index, offset in enumerate(offsets):
        share = select_n(eq(selected, full(windows.counts, np.int32(index))), zeros, source)
        spread = windows.spread(share, offset)
        total = spread if total is None else add(total, spread)
    assert total is not None, "windows have at least one element"
    return windows.unpadded(total)


def neutral_element(select_prim: Any, dtype: Any) -> Any:
    """Returns the value that a selection by ``ge`` (maximum) or ``le`` (minimum) never prefers."""
    return lowest(dtype) if select_prim.name == "ge" else highest(dtype)


def scatter_to_selected(
    vectorize: Vectorize,
    operand: ArrayLike,
    source: ArrayLike,
    init_value: ArrayLike,
    *,
    select_jaxpr: Any,
    select_consts: tuple,
    scatter_jaxpr: Any,
    scatter_consts: tuple,
    **window: Any,
) -> Array:
    """Computes `select_and_scatter`, one window at a time."""
    shape = shape_of(operand)
    windows = Windows(shape, **window)
    size = math.prod(windows.counts)
    padded = windows.padded(operand, init_value)
    prefer = vectorize(olympuspr_as_fun(select_jaxpr))
    best = broadcast_in_dim(init_value, (size,), ())
    selected = full((size,), np.int32(-1))
    for offset in windows.offsets():
        elements = reshape(windows.elements(padded, offset), (size,))
        places = windows.places(offset).reshape(size)
        none_yet = lt(selected, np.int32(0))
        (stays,) = prefer(best, elements)
        takes = bitwise_and(places >= 0, bitwise_or(none_yet, bitwise_not(stays)))
        best = select_n(takes, best, elements)
        selected = select_n(takes, selected, places)
    result = broadcast_in_dim(init_value, (math.prod(shape),), ())
    if size == 0 or 0 in shape:
        return reshape(result, shape)
    combine = olympuspr_as_fun(scatter_jaxpr)

    def step(result: Any, pair: Any) -> Any:
        place, element = pair
        # A window that lies in the padding has no effect.
        index = select_n(ge(place, np.int32(0)), np.int32(0), place)
        present = dynamic_index_in_dim(result, index, 0, keepdims=False)
        (combined,) = combine(present, element)
        value = select_n(ge(place, np.int32(0)), present, combined)
        return dynamic_update_index_in_dim(result, value, index, 0), None

    result, _ = scan(step, result, (selected, reshape(source, (size,))))
    return reshape(result, shape)
