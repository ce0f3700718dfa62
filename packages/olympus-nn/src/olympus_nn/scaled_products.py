# SPDX-License-Identifier: Apache-2.0
"""Products of matrices in narrow formats, in which the elements of a block share a scale.

The formats are those of the OCP Microscaling specification (MXFP8: blocks of 32 elements of 8 bits,
with powers of two as scales) and of NVIDIA (NVFP4: blocks of 16 elements of 4 bits, with scales of
8 bits, and a scale for the whole array).
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any, Literal

import ml_dtypes
import numpy as np

import olympus_numpy as onp
from olympus_autodiff import custom_vjp
from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_numpy.core.promotion import check_arraylike, ensure_array

__all__ = ["get_scaled_dot_general_config", "scaled_dot_general", "scaled_matmul"]

RESULT_DTYPES = (np.dtype("float32"), np.dtype(ml_dtypes.bfloat16), np.dtype("float16"))


@dataclasses.dataclass
class BlockScaleConfig:
    """Format of the elements and scales of a quantized array.

    Attributes:
      mode: the name of the format.
      block_size: the number of elements that share a scale.
      data_type: the dtype of elements.
      scale_type: the dtype of scales.
      global_scale: the scale of the whole array, of shape (1,), if the format has one.
      infer_only: whether no gradients are needed.
    """

    mode: str
    block_size: int
    data_type: Any
    scale_type: Any
    global_scale: Any
    infer_only: bool

    @property
    def largest(self) -> float:
        """The largest element of the format."""
        return float(ml_dtypes.finfo(self.data_type).max)


def get_scaled_dot_general_config(
    mode: Literal["nvfp4", "mxfp8"], global_scale: Any = None
) -> BlockScaleConfig:
    """Returns the format of a mode, for use in `scaled_dot_general`.

    Args:
      mode: ``"nvfp4"`` or ``"mxfp8"``.
      global_scale: with NVFP4 the scale of the whole array, of shape (1,); one by default.

    Returns:
      The `BlockScaleConfig`.

    Raises:
      ValueError: the mode is unknown.

    Example:
      >>> get_scaled_dot_general_config("mxfp8").block_size
      32
    """
    if mode == "nvfp4":
        scale = onp.ones((1,), np.float32) if global_scale is None else global_scale
        return BlockScaleConfig(
            mode, 16, ml_dtypes.float4_e2m1fn, ml_dtypes.float8_e4m3fn, scale, False
        )
    if mode == "mxfp8":
        return BlockScaleConfig(
            mode, 32, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e8m0fnu, None, False
        )
    raise ValueError(f"Unsupported mode: {mode}. Expected 'nvfp4' or 'mxfp8'.")


# ---- products of scaled operands ----


def scaled_matmul(
    lhs: ArrayLike,
    rhs: ArrayLike,
    lhs_scales: ArrayLike,
    rhs_scales: ArrayLike,
    preferred_element_type: DTypeLike = np.float32,
) -> Array:
    """Multiplies matrices whose blocks of elements have scales.

    The sum is over the last dimensions. Both operands are first multiplied by their scales. Each
    scale applies to all elements of its block.

    Args:
      lhs: an array of shape (B, M, K).
      rhs: an array of shape (B, N, K).
      lhs_scales: of shape (B, M, K / size of a block).
      rhs_scales: of shape (B, N, K / size of a block).
      preferred_element_type: the dtype of the result; sums are of float32.

    Returns:
      An array of shape (B, M, N).

    Raises:
      ValueError: shapes do not fit.

    Example:
      >>> a, b = np.float32([[[1, 2, 3]]]), np.float32([[[4, 5, 6]]])
      >>> half = np.float32([[[0.5]]])
      >>> scaled_matmul(a, b, half, half)
      Array([[[8.]]], dtype=float32)
    """
    check_arraylike("scaled_matmul", lhs, rhs, lhs_scales, rhs_scales)
    operands = [ensure_array(x) for x in (lhs, rhs, lhs_scales, rhs_scales)]
    _check_shapes(*(x.shape for x in operands))
    dtype = dtypes.check_and_canonicalize_user_dtype(preferred_element_type, "scaled_matmul")
    a, b, a_scales, b_scales = operands
    result = lax.scaled_dot(
        a,
        b,
        lhs_scale=a_scales,
        rhs_scale=b_scales,
        dimension_numbers=(((2,), (2,)), ((0,), (0,))),
        preferred_element_type=np.promote_types(np.float32, _wide(dtype)),
    )
    return lax.convert_element_type(result, dtype)


def _wide(dtype: Any) -> Any:
    """Returns float64 for sums in float64, and float32 otherwise."""
    return dtype if dtype == np.float64 else np.float32


def _check_shapes(a: tuple, b: tuple, a_scales: tuple, b_scales: tuple) -> None:
    if not all(len(shape) == 3 for shape in (a, b, a_scales, b_scales)):
        raise ValueError(
            "scaled_matmul requires all inputs to be 3-dimensional arrays, got shapes "
            f"{a}, {b}, {a_scales} and {b_scales}"
        )
    for name, first, second in (("inputs a and b", a, b), ("scales", a_scales, b_scales)):
        if (first[0], first[2]) != (second[0], second[2]):
            raise ValueError(
                f"scaled_matmul requires {name} to have matching batch (B) and contract (K) "
                f"dimensions, but got shapes {first} and {second}"
            )
    if a[:2] != a_scales[:2] or b[:2] != b_scales[:2]:
        raise ValueError(
            "scaled_matmul requires scales to match non-contract dimensions of inputs, but got "
            f"shapes a: {a}, b: {b}, a_scales: {a_scales}, b_scales: {b_scales}"
        )
    if not a_scales[2] or a[2] % a_scales[2]:
        raise ValueError(
            "scaled_matmul requires the number of scales to divide the contract dimension (K), "
            f"but got {a_scales[2]} scales for {a[2]} elements"
        )


# ---- quantization ----


def _rounded_up_to_power(x: Any) -> Any:
    """Returns the bits of the smallest power of two that is at least a positive float32."""
    bits = lax.bitcast_convert_type(x, np.uint32)
    exponent = onp.right_shift(bits, 23)
    mantissa = onp.bitwise_and(bits, (1 << 23) - 1)
    # Subnormal numbers up to 2^-127, half of the smallest normal number, become 2^-127. The
    # exponent bits of 2^-127 are zero.
    rounded_down = (exponent == 0) & (mantissa <= 1 << 22)
    is_larger = (mantissa > 0) & (exponent != 254) & ~rounded_down
    return onp.where(is_larger, exponent + 1, exponent).astype(np.uint8)


def _quantize(x: Any, config: BlockScaleConfig) -> tuple[Any, Any]:
    """Quantizes an array. Returns the elements, and the scales of blocks of the last dimension.

    The last dimension is padded with zeros to whole blocks.
    """
    size = config.block_size
    missing = -x.shape[-1] % size
    if missing:
        x = onp.pad(x, [(0, 0)] * (x.ndim - 1) + [(0, missing)])
    blocks = x.reshape(*x.shape[:-1], x.shape[-1] // size, size)
    if config.global_scale is not None:
        blocks = blocks / config.global_scale.astype(x.dtype)
    largest = config.largest
    exact_scales = onp.max(onp.abs(blocks), axis=-1, keepdims=True).astype(np.float32) / largest
    if config.mode == "mxfp8":
        exponents = _rounded_up_to_power(exact_scales)
        scales = lax.bitcast_convert_type(exponents, config.scale_type)
        # The elements are multiplied by the reciprocals, whose exponent bits these are. The scales
        # themselves may be subnormal numbers, which processors read as zero.
        reciprocals = lax.bitcast_convert_type(
            onp.left_shift(254 - exponents.astype(np.uint32), 23), np.float32
        )
        scaled = blocks.astype(np.float32) * reciprocals
    else:
        limit = float(ml_dtypes.finfo(config.scale_type).max)
        # The elements are divided by the rounded scale. The barrier keeps the compiler from
        # removing the rounding.
        scales = lax.optimization_barrier(
            onp.clip(exact_scales, 0, limit).astype(config.scale_type)
        )
        factors = scales.astype(np.float32)
        scaled = blocks.astype(np.float32) / onp.where(factors == 0, 1, factors)
    elements = onp.clip(scaled, -largest, largest)
    return elements.astype(config.data_type).reshape(x.shape), scales[..., 0]


def _product(x: Any, y: Any, configs: tuple, dtype: Any) -> Any:
    """Multiplies [B, M, K] by [B, N, K] in the formats of two configurations; returns [B, M, N]."""
    first, second = configs
    (x_elements, x_scales), (y_elements, y_scales) = _quantize(x, first), _quantize(y, second)
    result = scaled_matmul(x_elements, y_elements, x_scales, y_scales, dtype)
    if first.global_scale is not None:
        result = result * (first.global_scale * second.global_scale).astype(dtype)
    return result


def scaled_dot_general(
    lhs: ArrayLike,
    rhs: ArrayLike,
    dimension_numbers: Any,
    preferred_element_type: DTypeLike = np.float32,
    configs: Sequence[BlockScaleConfig] | None = None,
    implementation: Literal["cudnn"] | None = None,
) -> Array:
    """Computes `lax.dot_general` of operands that are quantized first.

    In MXFP8 the products of the gradient are quantized too. In NVFP4 these products use the
    unquantized operands, and the gradient is zero for elements beyond the range of the format.

    Args:
      lhs: an array.
      rhs: an array.
      dimension_numbers: ``((lhs contracting, rhs contracting), (lhs batch, rhs batch))``.
      preferred_element_type: the dtype of the result: float32, bfloat16 or float16.
      configs: three results of `get_scaled_dot_general_config`, for ``lhs``, ``rhs`` and the
        gradient of the result. With None, the product is computed by `lax.dot_general`, without
        quantization.
      implementation: has no effect.

    Returns:
      An array with the batch dimensions first, then the free dimensions of ``lhs``, then those of
      ``rhs``.

    Raises:
      TypeError: ``preferred_element_type`` is an unsupported dtype.
      ValueError: there are not three configurations.

    Example:
      >>> configs = [get_scaled_dot_general_config("mxfp8")] * 3
      >>> x = np.ones((2, 32), np.float32)
      >>> scaled_dot_general(x, x, (((1,), (1,)), ((), ())), configs=configs)
      Array([[32., 32.],
             [32., 32.]], dtype=float32)
    """
    check_arraylike("scaled_dot_general", lhs, rhs)
    x, y = ensure_array(lhs), ensure_array(rhs)
    if configs is None:
        return lax.dot_general(
            x, y, dimension_numbers, preferred_element_type=preferred_element_type
        )
    dtype = np.dtype(preferred_element_type)
    if dtype not in RESULT_DTYPES:
        raise TypeError(
            "scaled_dot_general supports preferred_element_type float32, bfloat16 and float16, "
            f"got {dtypes.name_of(dtype)}"
        )
    if len(configs) != 3:
        raise ValueError(
            "scaled_dot_general takes three configurations, for lhs, rhs and gradients, got "
            f"{len(configs)}"
        )
    (x_contracting, y_contracting), (x_batch, y_batch) = dimension_numbers
    matrices, free = [], []
    for operand, contracting, batch in ((x, x_contracting, x_batch), (y, y_contracting, y_batch)):
        matrix, sizes = _as_matrices(operand, tuple(contracting), tuple(batch))
        matrices.append(matrix)
        free.append(sizes)
    batch_sizes = [x.shape[dim] for dim in x_batch]
    result = _scaled_product(dtype, tuple(configs))(*matrices)
    return result.reshape(*batch_sizes, *free[0], *free[1])


def _as_matrices(
    operand: Any, contracting: tuple[int, ...], batch: tuple[int, ...]
) -> tuple[Any, list[int]]:
    """Returns an operand as [batch, free, contracting], and the sizes of its free dimensions."""
    shape = operand.shape
    free = [dim for dim in range(len(shape)) if dim not in contracting and dim not in batch]
    groups = (batch, free, contracting)
    sizes = [math.prod(shape[dim] for dim in group) for group in groups]
    arranged = lax.transpose(operand, [dim for group in groups for dim in group])
    return arranged.reshape(*sizes), [shape[dim] for dim in free]


def _scaled_product(dtype: Any, configs: tuple[BlockScaleConfig, ...]) -> Any:
    """Makes a product of quantized matrices whose derivative treats rounding as the identity."""

    @custom_vjp
    def scaled_product(x: Any, y: Any) -> Any:
        return _product(x, y, configs[:2], dtype)

    def forward(x: Any, y: Any) -> Any:
        return scaled_product(x, y), (x, y)

    scaled_product.defvjp(forward, functools.partial(_cotangents, dtype, configs))
    return scaled_product


def _cotangents(
    dtype: Any, configs: tuple[BlockScaleConfig, ...], operands: tuple[Any, Any], cotangent: Any
) -> tuple[Any, Any]:
    (x, y), (x_config, y_config, config) = operands, configs
    if x_config.mode == "mxfp8":
        # [B, M, N], [B, K, N] -> [B, M, K] and [B, N, M], [B, K, M] -> [B, N, K]
        x_cotangent = _product(cotangent, y.mT, (config, y_config), dtype)
        y_cotangent = _product(cotangent.mT, x.mT, (config, x_config), dtype)
    else:
        x_cotangent = _within_range(_dot(cotangent, y, dtype), x, x_config)
        y_cotangent = _within_range(_dot(cotangent.mT, x, dtype), y, y_config)
    return x_cotangent.astype(get_aval(x).dtype), y_cotangent.astype(get_aval(y).dtype)


def _dot(x: Any, y: Any, dtype: Any) -> Any:
    """Multiplies [B, M, N] by [B, N, K]; returns [B, M, K]."""
    numbers = (((2,), (1,)), ((0,), (0,)))
    return lax.dot_general(x, y.astype(x.dtype), numbers, preferred_element_type=dtype)


def _within_range(cotangent: Any, operand: Any, config: BlockScaleConfig) -> Any:
    """Returns the cotangent, with zeros at elements that quantization clips."""
    limit = config.global_scale * config.largest * float(ml_dtypes.finfo(config.scale_type).max)
    return onp.where(onp.abs(operand) <= limit.astype(operand.dtype), cotangent, 0)
