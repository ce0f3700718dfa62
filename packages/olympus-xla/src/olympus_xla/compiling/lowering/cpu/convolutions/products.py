# SPDX-License-Identifier: Apache-2.0
"""Convolutions as matrix products.

A convolution with windows of one element is a matrix product. If the features precede the spatial
dimensions, XLA transposes input and result, which takes twice the time of the product.

The derivative with respect to the windows is a convolution with windows of the size of the images,
and a result of the size of a window. Here each element of this result is a batch of matrix products
with a view of the images, which takes half the time of XLA's convolution. If the convolution has
groups of features, its derivative has groups of examples, for which XLA has a scalar loop. The
products take a hundredth of its time. If each group is a single feature, sums of elementwise
products need no transposition.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution.dimension_numbers import permuted
from olympus_ir.programs.staging import trace_to_closed

from ....cache_key import processor_identity
from ...context import LoweringContext
from ..machine_code import has_fast_wide_vectors
from .limits import FLOATS, LARGEST_WINDOW, is_large

# With smaller windows, the products of views are too small.
_SMALLEST_CONTRACTION = 64


def is_product(
    context: LoweringContext,
    *,
    window_strides: tuple,
    padding: tuple,
    lhs_dilation: tuple,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> bool:
    """Returns whether `product` replaces XLA's convolution."""
    rank = len(context.aval_out.shape)
    in_order = tuple(range(rank))
    return (
        is_large(context, FLOATS)
        and len({aval.dtype for aval in (*context.avals_in, context.aval_out)}) == 1
        and dimension_numbers.lhs_spec == dimension_numbers.out_spec == in_order
        and feature_group_count == batch_group_count == 1
        and set(permuted(context.avals_in[1].shape, dimension_numbers.rhs_spec)[2:]) == {1}
        and set(window_strides) | set(lhs_dilation) == {1}
        and set(itertools.chain.from_iterable(padding)) == {0}
    )


def is_products_of_views(
    context: LoweringContext,
    *,
    lhs_dilation: tuple,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> bool:
    """Returns whether `products_of_views` replaces XLA's convolution."""
    lhs, rhs = context.avals_in
    if not is_large(context, FLOATS) or len({lhs.dtype, rhs.dtype, context.aval_out.dtype}) > 1:
        return False
    count = math.prod(permuted(context.aval_out.shape, dimension_numbers.out_spec)[2:])
    window = math.prod(permuted(rhs.shape, dimension_numbers.rhs_spec)[2:])
    return (
        feature_group_count == 1
        and set(lhs_dilation) == {1}
        and 0 < count <= min(LARGEST_WINDOW, window)
        and (window >= _SMALLEST_CONTRACTION or batch_group_count > 1)
        and (count == 1 or batch_group_count > 1 or not _has_fast_convolutions())
        # a single example would give vectors, but XLA has only a scalar loop for groups
        and max(lhs.shape[dimension_numbers.lhs_spec[0]], batch_group_count) > 1
        and all(map(_is_in_one_block, (dimension_numbers.lhs_spec, dimension_numbers.rhs_spec)))
    )


def _has_fast_convolutions() -> bool:
    """Returns whether XLA's convolution takes less time than the products of several views.

    This was measured on AMD's processors with AVX-512. On those without, it takes twice the time.
    """
    return has_fast_wide_vectors(processor_identity() or "")


def _is_in_one_block(spec: tuple) -> bool:
    """Returns whether the spatial dimensions follow each other."""
    return spec[2:] == tuple(range(spec[2], spec[2] + len(spec) - 2))


def product(lhs: Any, rhs: Any, *, dimension_numbers: Any, precision: Any) -> Any:
    """Convolves with windows of one element, as a batch of matrix products."""
    # precision may also be an algorithm for dot products
    precision = precision if type(precision) is tuple else None
    batch, features, *spatial = lhs.shape
    rhs = lax.transpose(rhs, dimension_numbers.rhs_spec)
    matrix = lax.reshape(rhs, rhs.shape[:2])
    matrices = lax.broadcast_in_dim(matrix, (batch, *matrix.shape), (1, 2))
    columns = lax.reshape(lhs, (batch, features, math.prod(spatial)))
    result = lax.dot_general(matrices, columns, (((2,), (1,)), ((0,), (0,))), precision=precision)
    return lax.reshape(result, (batch, matrix.shape[0], *spatial))


def products_of_views(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    window_strides: tuple,
    padding: tuple,
    rhs_dilation: tuple,
    batch_group_count: int,
    precision: Any,
) -> Any:
    """Convolves with large windows.

    Each spatial element of the result is a batch of matrix products, one for each input feature and
    group of examples. The products of all input features are added.
    """
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    examples, outputs = lhs.shape[lhs_spec[0]], rhs.shape[rhs_spec[0]]
    is_separate = examples == outputs == batch_group_count and lhs_spec == rhs_spec
    if batch_group_count > 1 and not is_separate:
        # The groups must precede the spatial dimensions, or XLA transposes each view.
        (lhs, lhs_spec), (rhs, rhs_spec) = map(_with_features_first, (lhs, rhs), dimension_numbers)
    sizes = permuted(rhs.shape, rhs_spec)[2:]
    counts, starts, view = _views(lhs, lhs_spec, sizes, window_strides, padding, rhs_dilation)
    precision = precision if type(precision) is tuple else None
    if is_separate:
        elements = lax.concatenate(
            [
                lax.expand_dims(_sum_by_features(lax.mul(view(start), rhs), lhs_spec), (0,))
                for start in starts
            ],
            0,
        )
    else:
        windows, (_, *batch_of_windows, space_of_windows) = _as_matrices(
            rhs, rhs_spec, batch_group_count
        )

        def element(start: Any) -> Any:
            matrix, (_, *batch, space) = _as_matrices(view(start), lhs_spec, batch_group_count)
            # XLA is slow if the first matrix has few rows, such as one for each color of an image.
            dimensions = ((space_of_windows,), (space,)), (batch_of_windows, batch)
            products = lax.dot_general(windows, matrix, dimensions, precision=precision)
            return lax.reduce_sum(products, (0,))

        elements = _of_each(element, np.array(starts, np.int32))
    rank = len(counts)
    result = lax.reshape(elements, (*counts, outputs, examples // batch_group_count))
    order = [0] * lhs.ndim
    for source, position in zip((rank + 1, rank, *range(rank)), out_spec, strict=True):
        order[position] = source
    return lax.transpose(result, order)


def _of_each(function: Any, starts: np.ndarray) -> Any:
    """Returns the values of a function of the rows of an array, by a loop that is compiled once."""
    first = trace_to_closed(lambda: [function(starts[0])], ()).out_avals[0]

    def step(state: Any) -> Any:
        index, result = state
        start = lax.dynamic_index_in_dim(starts, index, 0, keepdims=False)
        value = lax.expand_dims(function(start), (0,))
        return lax.add(index, np.int32(1)), lax.dynamic_update_slice_in_dim(result, value, index, 0)

    end = np.int32(len(starts))
    empty = lax.full((len(starts), *first.shape), 0, first.dtype)
    return lax.while_loop(lambda state: lax.lt(state[0], end), step, (np.int32(0), empty))[1]


def _sum_by_features(x: Any, spec: tuple) -> Any:
    """Adds all but the first dimension of a spec.

    The elements of different examples are added first, place by place, because XLA vectorizes this
    sum: both take a third of the time of one.
    """
    _, summed, *space = spec
    sums = lax.reduce_sum(x, (summed,))
    return lax.reduce_sum(sums, tuple(position - (position > summed) for position in space))


def _views(
    lhs: Any,
    spec: tuple,
    sizes: tuple,
    window_strides: tuple,
    padding: tuple,
    rhs_dilation: tuple,
) -> tuple[list[int], list[tuple[int, ...]], Callable[[Any], Any]]:
    """Returns the views of an operand, one for each place of the window.

    Args:
      lhs: the left operand.
      spec: its dimensions of examples, features and space.
      sizes: the sizes of the window.
      window_strides, padding, rhs_dilation: those of the convolution.

    Returns:
      The result's spatial shape, the starts of the views, and a function from a start to its view.
    """
    pads = [(0, 0, 0)] * lhs.ndim
    for position, (low, high) in zip(spec[2:], padding, strict=True):
        pads[position] = (low, high, 0)
    # Without the barrier, XLA pads the operand once more for each view.
    padded = lax.optimization_barrier(lax.pad(lhs, np.zeros((), lhs.dtype), pads))
    extents = [
        dilation * (length - 1) + 1 for length, dilation in zip(sizes, rhs_dilation, strict=True)
    ]
    starts = [
        range(0, padded.shape[position] - extent + 1, stride)
        for position, extent, stride in zip(spec[2:], extents, window_strides, strict=True)
    ]

    shape, step = list(padded.shape), [1] * lhs.ndim
    for number, position in enumerate(spec[2:]):
        shape[position], step[position] = extents[number], rhs_dilation[number]

    def view(start: Any) -> Any:
        begin: list[Any] = [np.int32(0)] * lhs.ndim
        for number, position in enumerate(spec[2:]):
            begin[position] = start[number]
        part = lax.dynamic_slice(padded, begin, shape)
        return lax.slice(part, [0] * lhs.ndim, part.shape, step) if set(step) != {1} else part

    return [*map(len, starts)], list(itertools.product(*starts)), view


def _with_features_first(x: Any, spec: tuple) -> tuple[Any, tuple]:
    """Transposes an array to features, examples and spatial dimensions. Returns it with its spec.

    For windows, the features are those of the input, and the examples those of the result.
    """
    return lax.transpose(x, (spec[1], spec[0], *spec[2:])), (1, 0, *range(2, x.ndim))


def _as_matrices(x: Any, spec: tuple, groups: int) -> tuple[Any, list[int]]:
    """Merges the spatial dimensions of an array, and divides its examples into groups.

    Returns:
      The array, and its dimensions of examples, features, groups if there are several, and space.
    """
    first, last = spec[2], spec[-1]
    space = math.prod(x.shape[first : last + 1])
    shape = [*x.shape[:first], space, *x.shape[last + 1 :]]
    examples, features, space = (
        position - (last - first) * (position > last) for position in spec[:3]
    )
    if groups == 1:
        return lax.reshape(x, shape), [examples, features, space]
    shape[examples : examples + 1] = [groups, shape[examples] // groups]
    features, space = (position + (position > examples) for position in (features, space))
    return lax.reshape(x, shape), [examples + 1, features, examples, space]
