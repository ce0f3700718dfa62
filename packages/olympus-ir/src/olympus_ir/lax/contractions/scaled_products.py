# SPDX-License-Identifier: Apache-2.0
"""Products of low-precision arrays whose blocks of elements have separate scales."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

from ...programs.expansion import expansion_rules
from ...programs.primitives import instruction
from ...types import dtypes
from ...types.annotations import DTypeLike
from ...types.avals import ShapedArray
from ..core.values import Array, ArrayLike, shape_of
from ..elementwise.arithmetic import mul
from ..elementwise.conversion import convert_element_type
from ..shaping.broadcasting import broadcast_in_dim
from ..shaping.creation import full
from ..shaping.rearrangement import reshape
from .products import DotDimensionNumbers, dot_general, dot_general_p

__all__ = ["scaled_dot", "scaled_dot_p"]

# result = scaled_dot[dimension_numbers preferred_element_type] lhs rhs lhs_scale rhs_scale
scaled_dot_p = instruction("scaled_dot", family="contractions")

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


@scaled_dot_p.def_abstract_eval
def _scaled_dot_shape(
    lhs: ShapedArray,
    rhs: ShapedArray,
    lhs_scale: ShapedArray,
    rhs_scale: ShapedArray,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
) -> ShapedArray:
    (lhs_contracting, rhs_contracting), _ = dimension_numbers
    _check_scale("LHS", lhs, lhs_scale, lhs_contracting)
    _check_scale("RHS", rhs, rhs_scale, rhs_contracting)
    result: Any
    ((result,), _) = dot_general_p.infer(
        (lhs, rhs),
        {
            "dimension_numbers": dimension_numbers,
            "precision": None,
            "preferred_element_type": preferred_element_type,
            "out_sharding": None,
        },
    )
    return result


def _check_scale(side: str, operand: ShapedArray, scale: ShapedArray, contracting: Any) -> None:
    if operand.ndim != scale.ndim:
        raise TypeError(
            f"{side} of rank {operand.ndim} does not match its scale of rank {scale.ndim}: both "
            "must have the same number of dimensions."
        )
    for dim, (size, blocks) in enumerate(zip(operand.shape, scale.shape, strict=True)):
        if dim not in contracting:
            if size != blocks:
                raise TypeError(
                    f"{side} dim {dim} of size {size} does not match scale dim size {blocks}."
                )
        elif not blocks or size % blocks:
            raise TypeError(
                f"{side} contracting dim {dim} of size {size} must be divisible by its scale's "
                f"dim size {blocks}."
            )


@expansion_rules.define(scaled_dot_p)
def scaled_dot_decomposition(
    lhs: Any,
    rhs: Any,
    lhs_scale: Any,
    rhs_scale: Any,
    *,
    dimension_numbers: Any,
    preferred_element_type: Any,
) -> Any:
    """Multiplies the operands by their scales, and contracts the results.

    All products and sums have the dtype ``preferred_element_type``.
    """
    return dot_general(
        _scaled(lhs, lhs_scale, preferred_element_type),
        _scaled(rhs, rhs_scale, preferred_element_type),
        dimension_numbers,
        preferred_element_type=preferred_element_type,
    )


def _scaled(operand: Any, scale: Any, dtype: Any) -> Any:
    shape = shape_of(operand)
    if shape_of(scale) != shape:
        # [..., blocks, ...] -> [..., blocks, size of a block, ...] -> [..., size, ...]
        split, kept = [], []
        for size, blocks in zip(shape, shape_of(scale), strict=True):
            kept.append(len(split))
            split += [blocks] if size == blocks else [blocks, size // blocks]
        scale = reshape(broadcast_in_dim(scale, tuple(split), tuple(kept)), shape)
    return mul(convert_element_type(operand, dtype), convert_element_type(scale, dtype))


def scaled_dot(
    lhs: ArrayLike,
    rhs: ArrayLike,
    *,
    lhs_scale: ArrayLike | None = None,
    rhs_scale: ArrayLike | None = None,
    dimension_numbers: DotDimensionNumbers | None = None,
    preferred_element_type: DTypeLike | None = None,
) -> Array:
    """Multiplies arrays whose blocks of elements have separate scales.

    Args:
      lhs: an array.
      rhs: an array.
      lhs_scale: the scales of ``lhs``; ones if not given. Along contracted dimensions, one scale
        applies to a block of elements. Along other dimensions, one scale applies to one element.
      rhs_scale: the scales of ``rhs``, in the same form.
      dimension_numbers: as in `dot_general`; by default as in a matrix product.
      preferred_element_type: the dtype of sums and of the result, bfloat16 by default.

    Returns:
      An array of ``preferred_element_type``.

    Raises:
      TypeError: if the scales do not fit the operands.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> x = np.ones((1, 4), np.float32)
      >>> lax.scaled_dot(x, x.T, lhs_scale=np.float32([[2, 3]]), preferred_element_type="float32")
      Array([[10.]], dtype=float32)
    """
    if dimension_numbers is None:
        dimension_numbers = (((len(shape_of(lhs)) - 1,), (0,)), ((), ()))
    (lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch) = dimension_numbers
    if preferred_element_type is None:
        dtype: Any = _BFLOAT16
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(preferred_element_type, "scaled_dot")
    return scaled_dot_p.bind(
        lhs,
        rhs,
        _unit_scale(lhs, lhs_contracting) if lhs_scale is None else lhs_scale,
        _unit_scale(rhs, rhs_contracting) if rhs_scale is None else rhs_scale,
        dimension_numbers=(
            (tuple(lhs_contracting), tuple(rhs_contracting)),
            (tuple(lhs_batch), tuple(rhs_batch)),
        ),
        preferred_element_type=dtype,
    )


def _unit_scale(operand: ArrayLike, contracting: Any) -> Array:
    shape = tuple(1 if dim in contracting else size for dim, size in enumerate(shape_of(operand)))
    ones = full(shape, 1, _BFLOAT16)
    return convert_element_type(ones, ml_dtypes.float8_e8m0fnu)
