# SPDX-License-Identifier: Apache-2.0
"""Lowering of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.lax.convolution.dimension_numbers import permuted
from olympus_ir.types import dtypes

from .. import mlir
from ..context import LoweringContext
from ..cpu.choice import is_static
from ..cpu.convolutions.replacements import replacement
from ..gpu.convolutions import sum_of_products
from ..layouts import kept_whole
from ..tables import define_for_platform, lower_with, lowering_rules
from .contractions import precision_attribute


def _dimension_numbers(numbers: Any) -> Any:
    """Returns the attribute of dimension numbers, ``[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]``."""
    written = [
        _letters(spec, letters) for spec, letters in zip(numbers, ("bf", "oi", "bf"), strict=True)
    ]
    return mlir.parsed(f"#stablehlo.conv<{written[0]}x{written[1]}->{written[2]}>")


def _letters(spec: Sequence[int], letters: str) -> str:
    names = [*letters, *map(str, range(len(spec) - 2))]
    placed = [""] * len(spec)
    for position, name in zip(spec, names, strict=True):
        placed[position] = name
    return f"[{', '.join(placed)}]"


@lowering_rules.define(conv_general_dilated_p)
def _conv_general_dilated(context: LoweringContext, lhs: Any, rhs: Any, **params: Any) -> Any:
    found = replacement(context, params)
    if found is None:
        return _convolution(context, lhs, rhs, **params)
    function, chosen = found
    return context.inline_function(function, (lhs, rhs), chosen)


def _convolution(
    context: LoweringContext,
    lhs: Any,
    rhs: Any,
    *,
    window_strides: tuple,
    padding: tuple,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
    dimension_numbers: Any,
    feature_group_count: int,
    batch_group_count: int,
    precision: Any,
    **params: Any,
) -> Any:
    aval = context.aval_out
    lhs_shape, rhs_shape = (aval_in.shape for aval_in in context.avals_in)
    if 0 in aval.shape or 0 in lhs_shape or 0 in rhs_shape:
        return context.full(0, aval.shape, aval.dtype)
    if precision.__class__ is not tuple:
        precision = None  # only dot products have algorithms
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads, shape = list(padding), list(aval.shape)
    sizes, window = permuted(lhs_shape, lhs_spec)[2:], permuted(rhs_shape, rhs_spec)[2:]
    if any(_is_longer(length, size) for length, size in zip(window, sizes, strict=True)):
        for index, geometry in enumerate(
            zip(sizes, window, window_strides, padding, lhs_dilation, rhs_dilation, strict=True)
        ):
            if _is_taken_for_a_batch(*geometry):
                # This padding adds one more window, so that XLA no longer takes the dimension for a
                # batch.
                pads[index] = (0, window_strides[index])
                shape[out_spec[index + 2]] += 1
    count = len(pads)
    several = _has_several_axes(context)
    if several:
        lhs, rhs = (
            kept_whole(context, operand, operand_aval, spec[2:])
            for operand, operand_aval, spec in zip(
                (lhs, rhs), context.avals_in, (lhs_spec, rhs_spec), strict=True
            )
        )
    result = context.create(
        "stablehlo.convolution",
        mlir.tensor_type(shape, aval.dtype),
        (lhs, rhs),
        {
            "window_strides": mlir.i64_array(window_strides),
            "padding": mlir.i64_elements(np.reshape(pads, (count, 2))),
            "lhs_dilation": mlir.i64_array(lhs_dilation),
            "rhs_dilation": mlir.i64_array(rhs_dilation),
            "window_reversal": mlir.boolean_array((False,) * count),
            "dimension_numbers": _dimension_numbers(dimension_numbers),
            "feature_group_count": mlir.i64(feature_group_count),
            "batch_group_count": mlir.i64(batch_group_count),
            "precision_config": precision_attribute(precision),
        },
    )
    if tuple(shape) != aval.shape:
        result = context.create(
            "stablehlo.slice",
            mlir.aval_type(aval),
            (result,),
            {
                "start_indices": mlir.i64_array((0,) * len(shape)),
                "limit_indices": mlir.i64_array(aval.shape),
                "strides": mlir.i64_array((1,) * len(shape)),
            },
        )
    return kept_whole(context, result, aval, out_spec[2:]) if several else result


def _has_several_axes(context: LoweringContext) -> bool:
    """Returns whether an array can be sharded over some axes of the mesh, and repeated over others.

    XLA's partitioner adds up the results of a convolution over the axes of repetition, too, if it
    is sharded along spatial dimensions.
    """
    mesh = context.module.mesh
    return mesh is not None and sum(size > 1 for size in mesh.shape.values()) > 1


def _is_longer(length: Any, size: Any) -> bool:
    # Symbolic sizes do not matter: XLA receives the program after they have become numbers.
    return type(length) is int and type(size) is int and length > size


def _is_taken_for_a_batch(
    size: int,
    window: int,
    stride: int,
    padding: tuple[int, int],
    lhs_dilation: int,
    rhs_dilation: int,
) -> bool:
    """Returns whether XLA mistakes a spatial dimension for a batch, which may crash the process.

    A batch of products can be written as a convolution over a spatial dimension whose size equals
    the size of the window, with a dilation of the input by this size and a stride of one less. If
    the kernel is larger than the input, XLA's simplifier swaps kernel and input. It then takes a
    dimension with such a dilation and stride for a batch, without comparing its size with that of
    the window. Dimensions with padding are not affected.
    """
    return (
        tuple(padding) == (0, 0)
        and rhs_dilation == 1
        and lhs_dilation == window
        and stride == window - 1
        and size != window
    )


def _of_parts(lhs: Any, rhs: Any, **params: Any) -> Any:
    """Computes a convolution of complex numbers by convolutions of real and imaginary parts."""
    preferred = params.pop("preferred_element_type")
    if preferred is not None:
        preferred = np.zeros((), preferred).real.dtype

    def convolve(x: Any, y: Any) -> Any:
        return conv_general_dilated_p.bind(x, y, preferred_element_type=preferred, **params)

    lhs_real, lhs_imag, rhs_real, rhs_imag = (
        part(x) for x in (lhs, rhs) for part in (lax.real, lax.imag)
    )
    return lax.complex(
        lax.sub(convolve(lhs_real, rhs_real), convolve(lhs_imag, rhs_imag)),
        lax.add(convolve(lhs_real, rhs_imag), convolve(lhs_imag, rhs_real)),
    )


_lower_parts = lower_with(_of_parts)
_lower_integers = lower_with(sum_of_products)


def _on_graphics_processors(context: LoweringContext, *operands: Any, **params: Any) -> Any:
    """Lowers a convolution on GPUs, whose libraries only support real floating-point numbers."""
    dtype = context.aval_out.dtype
    shapes = [aval.shape for aval in context.avals_in]
    rule = _conv_general_dilated
    if dtypes.issubdtype(dtype, np.complexfloating):
        rule = _lower_parts
    elif dtypes.issubdtype(dtype, np.integer) and all(map(is_static, shapes)):
        rule = _lower_integers
    return rule(context, *operands, **params)


for _platform in ("cuda", "rocm"):
    define_for_platform(conv_general_dilated_p, _platform, _on_graphics_processors)
