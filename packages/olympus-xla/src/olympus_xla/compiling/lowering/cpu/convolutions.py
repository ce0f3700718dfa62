# SPDX-License-Identifier: Apache-2.0
"""Fast depthwise and pointwise convolutions on CPUs.

XLA's CPU backend computes depthwise convolutions, whose features are separate, by a scalar loop, in
15 to 20 ns per element of the result. A sum of shifted views of the padded input, each times one
weight, takes 0.5 ns. A convolution with windows of one element is a matrix product. If the features
precede the spatial dimensions, XLA transposes input and result, which takes twice the time of the
product. A convolution with a few groups of features takes half the time if each group is a separate
convolution.

The derivative with respect to the windows is a convolution with windows of the size of the images,
and a result of the size of a window. Here each element of this result is a batch of matrix products
with a view of the images, which takes half the time of XLA's convolution. If the convolution has
groups of features, its derivative has groups of examples. A separate convolution for each group
takes a ninth of the time.

XLA computes all other convolutions.

The group ``networks`` of the benchmarks covers this module.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution import conv_general_dilated_p
from olympus_ir.lax.convolution_shapes import permuted
from olympus_ir.types import dtypes

from ..context import LoweringContext
from .choice import is_for_this_cpu, is_static

# For results or windows with at least this many elements, these operations are faster than those of
# XLA.
SMALLEST = 1024

# Each element of a window is a view, and XLA compiles only a few hundred views per second.
_LARGEST_WINDOW = 49

# With smaller windows, the products of views are too small.
_SMALLEST_CONTRACTION = 64

# With more groups, or with fewer features in each group, a single convolution is faster.
_MOST_GROUPS = 8
_FEWEST_FEATURES = 4

# The parameters of `sum_of_views`.
GEOMETRY = (
    "dimension_numbers",
    "window_strides",
    "padding",
    "rhs_dilation",
    "preferred_element_type",
)

# The parameters of `products_of_views`.
VIEWS = ("dimension_numbers", "window_strides", "padding", "rhs_dilation", "precision")

_FLOATS = (np.dtype(np.float32), np.dtype(np.float64))
_HALVES = (np.dtype(np.float16), np.dtype(dtypes.bfloat16))


def is_sum_of_views(
    context: LoweringContext,
    *,
    dimension_numbers: Any,
    lhs_dilation: tuple,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> bool:
    """Returns whether `sum_of_views` replaces XLA's convolution."""
    lhs, rhs = context.avals_in
    if not _is_large(context, _FLOATS + _HALVES):
        return False
    window = permuted(rhs.shape, dimension_numbers.rhs_spec)
    return (
        batch_group_count == 1
        and lhs.shape[dimension_numbers.lhs_spec[1]] == feature_group_count == window[0]
        and dimension_numbers.lhs_spec == dimension_numbers.out_spec
        and 0 < math.prod(window[2:]) <= _LARGEST_WINDOW
        and set(lhs_dilation) <= {1}
    )


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
        _is_large(context, _FLOATS)
        and len({aval.dtype for aval in (*context.avals_in, context.aval_out)}) == 1
        and dimension_numbers.lhs_spec == dimension_numbers.out_spec == in_order
        and feature_group_count == batch_group_count == 1
        and set(permuted(context.avals_in[1].shape, dimension_numbers.rhs_spec)[2:]) == {1}
        and set(window_strides) | set(lhs_dilation) == {1}
        and set(itertools.chain.from_iterable(padding)) == {0}
    )


def is_split(
    context: LoweringContext, *, feature_group_count: int, batch_group_count: int, **params: Any
) -> bool:
    """Returns whether `convolutions_of_groups` replaces XLA's convolution."""
    features = params["dimension_numbers"].lhs_spec[1]
    return (
        batch_group_count == 1
        and 1 < feature_group_count <= _MOST_GROUPS
        and _is_large(context, _FLOATS)
        and context.avals_in[0].shape[features] >= _FEWEST_FEATURES * feature_group_count
    )


def is_split_by_batch(
    context: LoweringContext, *, feature_group_count: int, batch_group_count: int, **params: Any
) -> bool:
    """Returns whether `convolutions_of_batch_groups` replaces XLA's convolution."""
    batch = params["dimension_numbers"].lhs_spec[0]
    return (
        feature_group_count == 1
        and 1 < batch_group_count <= _MOST_GROUPS
        and _is_large(context, _FLOATS)
        and context.avals_in[0].shape[batch] >= _FEWEST_FEATURES * batch_group_count
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
    if not _is_large(context, _FLOATS) or len({lhs.dtype, rhs.dtype, context.aval_out.dtype}) > 1:
        return False
    count = math.prod(permuted(context.aval_out.shape, dimension_numbers.out_spec)[2:])
    window = math.prod(permuted(rhs.shape, dimension_numbers.rhs_spec)[2:])
    return (
        feature_group_count == batch_group_count == 1
        and set(lhs_dilation) == {1}
        and 0 < count <= min(_LARGEST_WINDOW, window)
        and window >= _SMALLEST_CONTRACTION
        and lhs.shape[dimension_numbers.lhs_spec[0]] > 1  # a single example would give vectors
        and all(map(_is_in_one_block, (dimension_numbers.lhs_spec, dimension_numbers.rhs_spec)))
    )


def _is_in_one_block(spec: tuple) -> bool:
    """Returns whether the spatial dimensions follow each other."""
    return spec[2:] == tuple(range(spec[2], spec[2] + len(spec) - 2))


def _is_large(context: LoweringContext, allowed: tuple) -> bool:
    """Returns whether these operations apply to operands and a result of the allowed dtypes."""
    lhs, rhs = context.avals_in
    avals = (lhs, rhs, context.aval_out)
    return (
        all(is_static(aval.shape) and aval.dtype in allowed for aval in avals)
        # In the derivative with respect to windows, the result is small and ``rhs`` is large.
        and max(math.prod(context.aval_out.shape), math.prod(rhs.shape)) >= SMALLEST
        and is_for_this_cpu(context)
    )


def sum_of_views(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    window_strides: tuple,
    padding: tuple,
    rhs_dilation: tuple,
    preferred_element_type: Any,
) -> Any:
    """Convolves each feature with its own window."""
    spec = dimension_numbers.lhs_spec
    dtype = np.dtype(preferred_element_type or lhs.dtype)
    wide = np.dtype(np.float32) if dtype in _HALVES else dtype
    pads = [(0, 0, 0)] * lhs.ndim
    for position, (low, high) in zip(spec[2:], padding, strict=True):
        pads[position] = (low, high, 0)
    padded = lax.pad(lax.convert_element_type(lhs, wide), np.zeros((), wide), pads)
    # Without the barrier, XLA takes a view that has no padding from the operand, and computes the
    # operand twice.
    padded = lax.optimization_barrier(padded)
    weights = lax.transpose(lax.convert_element_type(rhs, wide), dimension_numbers.rhs_spec)
    window = weights.shape[2:]
    sizes = [
        (padded.shape[position] - dilation * (length - 1) - 1) // stride + 1
        for position, length, dilation, stride in zip(
            spec[2:], window, rhs_dilation, window_strides, strict=True
        )
    ]
    total: Any = None
    weights = lax.reshape(weights, (weights.shape[0], math.prod(window)))
    for element, offsets in enumerate(itertools.product(*map(range, window))):
        start, limit, stride = [0] * lhs.ndim, list(padded.shape), [1] * lhs.ndim
        for number, position in enumerate(spec[2:]):
            start[position] = offsets[number] * rhs_dilation[number]
            limit[position] = start[position] + (sizes[number] - 1) * window_strides[number] + 1
            stride[position] = window_strides[number]
        view = lax.slice(padded, start, limit, stride)
        weight = lax.index_in_dim(weights, element, 1, keepdims=False)
        term = lax.mul(view, lax.broadcast_in_dim(weight, view.shape, (spec[1],)))
        total = term if total is None else lax.add(total, term)
    return lax.convert_element_type(total, dtype)


def convolutions_of_groups(
    lhs: Any, rhs: Any, *, dimension_numbers: Any, feature_group_count: int, **params: Any
) -> Any:
    """Convolves each group of features separately."""
    convolve = functools.partial(
        conv_general_dilated_p.bind,
        dimension_numbers=dimension_numbers,
        feature_group_count=1,
        **params,
    )
    split = (dimension_numbers.lhs_spec[1], dimension_numbers.rhs_spec[0])
    return _of_groups(convolve, lhs, rhs, split, feature_group_count, dimension_numbers.out_spec[1])


def convolutions_of_batch_groups(
    lhs: Any, rhs: Any, *, dimension_numbers: Any, batch_group_count: int, **params: Any
) -> Any:
    """Convolves each group of examples with its own windows.

    This is the derivative of a convolution with groups of features with respect to the windows.
    """
    convolve = functools.partial(
        conv_general_dilated_p.bind,
        dimension_numbers=dimension_numbers,
        batch_group_count=1,
        **params,
    )
    split = (dimension_numbers.lhs_spec[0], dimension_numbers.rhs_spec[0])
    return _of_groups(convolve, lhs, rhs, split, batch_group_count, dimension_numbers.out_spec[1])


def _of_groups(
    convolve: Callable[[Any, Any], Any],
    lhs: Any,
    rhs: Any,
    split: tuple[int, int],
    count: int,
    joined: int,
) -> Any:
    """Convolves parts of the operands, and joins the results along a dimension."""
    parts = []
    for group in range(count):
        operands = []
        for operand, dimension in zip((lhs, rhs), split, strict=True):
            size = operand.shape[dimension] // count
            start = group * size
            operands.append(lax.slice_in_dim(operand, start, start + size, axis=dimension))
        parts.append(convolve(*operands))
    return lax.concatenate(parts, joined)


def products_of_views(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    window_strides: tuple,
    padding: tuple,
    rhs_dilation: tuple,
    precision: Any,
) -> Any:
    """Convolves with large windows.

    Each spatial element of the result is a batch of matrix products, one for each input feature.
    The products of all input features are added.
    """
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    precision = precision if type(precision) is tuple else None
    pads = [(0, 0, 0)] * lhs.ndim
    for position, (low, high) in zip(lhs_spec[2:], padding, strict=True):
        pads[position] = (low, high, 0)
    padded = lax.pad(lhs, np.zeros((), lhs.dtype), pads)
    windows, (_, of_windows, space_of_windows) = _with_flat_space(rhs, rhs_spec)
    extents = [
        dilation * (length - 1) + 1
        for length, dilation in zip(permuted(rhs.shape, rhs_spec)[2:], rhs_dilation, strict=True)
    ]
    starts = [
        range(0, padded.shape[position] - extent + 1, stride)
        for position, extent, stride in zip(lhs_spec[2:], extents, window_strides, strict=True)
    ]
    elements = []
    for start in itertools.product(*starts):
        begin, limit, step = [0] * lhs.ndim, list(padded.shape), [1] * lhs.ndim
        for number, position in enumerate(lhs_spec[2:]):
            begin[position], step[position] = start[number], rhs_dilation[number]
            limit[position] = start[number] + extents[number]
        view, (_, feature, space) = _with_flat_space(
            lax.slice(padded, begin, limit, step), lhs_spec
        )
        # XLA is slow if the first matrix has few rows, such as one for each color of an image.
        contracted, batch = ((space_of_windows,), (space,)), ((of_windows,), (feature,))
        products = lax.dot_general(windows, view, (contracted, batch), precision=precision)
        elements.append(lax.reduce_sum(products, (0,)))
    result = lax.reshape(
        lax.concatenate([lax.expand_dims(each, (0,)) for each in elements], 0),
        (*map(len, starts), *elements[0].shape),
    )
    rank = len(starts)
    order = [0] * lhs.ndim
    for source, position in zip((rank + 1, rank, *range(rank)), out_spec, strict=True):
        order[position] = source
    return lax.transpose(result, order)


def _with_flat_space(x: Any, spec: tuple) -> tuple[Any, list[int]]:
    """Merges the spatial dimensions of an array. Also returns the new ``spec``."""
    first, last = spec[2], spec[-1]
    space = math.prod(x.shape[first : last + 1])
    flat = lax.reshape(x, (*x.shape[:first], space, *x.shape[last + 1 :]))
    return flat, [position - (last - first) * (position > last) for position in spec[:3]]


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
