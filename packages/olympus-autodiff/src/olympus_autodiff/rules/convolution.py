# SPDX-License-Identifier: Apache-2.0
"""Derivatives of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.lax.convolution.dimension_numbers import ConvDimensionNumbers, permuted
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.lax.windows.shapes import dilated_size

from ..tables import jvp_rules, shape_of, transpose_rules
from ..zeros import (
    Zero,
    add_tangents,
    aval_of,
    cotangent_sharding,
    is_undefined_primal,
    scalar,
    whole,
)


@jvp_rules.define(conv_general_dilated_p)
def _conv_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    (x, kernel), (x_tangent, kernel_tangent) = primals, tangents
    convolve = conv_general_dilated_p.bind
    result = convolve(x, kernel, **params)
    first = x_tangent
    if x_tangent.__class__ is not Zero:
        first = convolve(x_tangent, kernel, **params)
    if kernel_tangent.__class__ is Zero:
        return result, first
    return result, add_tangents(first, convolve(x, kernel_tangent, **params))


@transpose_rules.define(conv_general_dilated_p)
def _conv_transpose(cotangent: Any, x: Any, kernel: Any, **params: Any) -> list[Any]:
    if is_undefined_primal(x):
        if is_undefined_primal(kernel):
            raise ValueError(
                "transposition of a product of two linear values: the function is not linear"
            )
        return [_or_zeros(_cotangent_of_input, cotangent, x.aval, kernel, **params), None]
    return [None, _or_zeros(_cotangent_of_kernel, cotangent, kernel.aval, x, **params)]


def _or_zeros(
    rule: Any,
    cotangent: Any,
    aval: Any,
    other: Any,
    *,
    preferred_element_type: Any,
    out_sharding: Any,
    **params: Any,
) -> Any:
    """Applies a rule to operands of the same dtype; returns zeros if an operand has no elements."""
    sharding = cotangent_sharding(cotangent, aval)
    if sharding is None and aval_of(other).layout is not None:
        sharding = whole(aval_of(other).layout, aval.ndim)
    if 0 in aval_of(cotangent).shape or 0 in aval_of(other).shape:
        return lax.broadcast_in_dim(scalar(0, aval.dtype), aval.shape, (), out_sharding=sharding)
    dtype = aval_of(cotangent).dtype
    if preferred_element_type is not None and aval_of(other).dtype != dtype:
        other = convert_dtype(other, dtype)
    out = rule(
        cotangent,
        aval,
        other,
        preferred_element_type=preferred_element_type,
        # With batch groups, no layout is requested: the groups are merged after the convolution,
        # which changes the layout.
        out_sharding=sharding if params["batch_group_count"] == 1 else None,
        **params,
    )
    return out if aval_of(out).dtype == aval.dtype else convert_dtype(out, aval.dtype)


def _cotangent_of_input(
    cotangent: Any,
    aval: Any,
    kernel: Any,
    *,
    window_strides: tuple,
    padding: tuple,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    """Returns the input's cotangent: the result's cotangent, convolved with the flipped kernel."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    groups = max(feature_group_count, batch_group_count)
    pads = input_cotangent_padding(
        permuted(aval.shape, lhs_spec)[2:],
        permuted(shape_of(kernel), rhs_spec)[2:],
        permuted(shape_of(cotangent), out_spec)[2:],
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
    )
    if groups > 1:
        # A group of the input's features gets cotangents only from the same group of the result's
        # features. So the groups move from the kernel's output features to its input features.
        kernel = _regrouped(kernel, groups, rhs_spec[0], rhs_spec[1])
    out = conv_general_dilated_p.bind(
        cotangent,
        lax.rev(kernel, rhs_spec[2:]),
        window_strides=lhs_dilation,
        padding=pads,
        lhs_dilation=window_strides,
        rhs_dilation=rhs_dilation,
        dimension_numbers=ConvDimensionNumbers(out_spec, _swapped(rhs_spec), lhs_spec),
        feature_group_count=groups,
        batch_group_count=1,
        **params,
    )
    if batch_group_count > 1:
        out = _regrouped(out, batch_group_count, lhs_spec[1], lhs_spec[0])
    return out


def _cotangent_of_kernel(
    cotangent: Any,
    aval: Any,
    x: Any,
    *,
    window_strides: tuple,
    padding: tuple,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> Any:
    """Returns the kernel's cotangent: the input, convolved with the result's cotangent.

    The convolution sums over the batch dimension.
    """
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = []
    for size, window, count, stride, (low, _), base, dilation in zip(
        permuted(shape_of(x), lhs_spec)[2:],
        permuted(aval.shape, rhs_spec)[2:],
        permuted(shape_of(cotangent), out_spec)[2:],
        window_strides,
        padding,
        lhs_dilation,
        rhs_dilation,
        strict=True,
    ):
        # The cotangent is the window of this convolution, whose result is the kernel's cotangent.
        # Pad the input such that there is one position of the window for each kernel element.
        needed = dilated_size(count, stride) + dilated_size(window, dilation) - 1
        pads.append((low, needed - dilated_size(size, base) - low))
    return conv_general_dilated_p.bind(
        x,
        cotangent,
        window_strides=rhs_dilation,
        padding=tuple(pads),
        lhs_dilation=lhs_dilation,
        rhs_dilation=window_strides,
        dimension_numbers=ConvDimensionNumbers(*map(_swapped, (lhs_spec, out_spec, rhs_spec))),
        feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        **params,
    )


def input_cotangent_padding(
    sizes: Sequence[int],
    window_dimensions: Sequence[int],
    counts: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> tuple[tuple[int, int], ...]:
    """Returns the padding of the dilated cotangent in the convolution for the input's cotangent.

    Args:
      sizes: the sizes of the input's dimensions.
      window_dimensions: the sizes of the window.
      counts: the number of windows along each dimension, which are the cotangent's sizes.
      window_strides: the strides of the window.
      padding: the padding of the input.
      base_dilation: the dilation of the input.
      window_dilation: the dilation of the window.
    """
    pads = []
    for size, window, count, stride, (low, _), base, dilation in zip(
        sizes,
        window_dimensions,
        counts,
        window_strides,
        padding,
        base_dilation,
        window_dilation,
        strict=True,
    ):
        reach = dilated_size(window, dilation)
        before = reach - low - 1
        after = dilated_size(size, base) + reach - 1 - dilated_size(count, stride) - before
        pads.append((before, after))
    return tuple(pads)


def _swapped(spec: Sequence[int]) -> tuple[int, ...]:
    return (spec[1], spec[0], *spec[2:])


def _regrouped(x: Any, groups: int, source: int, target: int) -> Any:
    """Splits ``groups`` off dimension ``source``, and merges it into the front of ``target``."""
    shape = list(shape_of(x))
    shape[source : source + 1] = [groups, shape[source] // groups]
    x = lax.reshape(x, shape)
    place = target + (target > source)
    order = [dimension for dimension in range(len(shape)) if dimension != source]
    sizes = [shape[dimension] for dimension in order]
    position = order.index(place)
    sizes[position] *= groups
    order.insert(position, source)
    return lax.reshape(x, sizes, order)
