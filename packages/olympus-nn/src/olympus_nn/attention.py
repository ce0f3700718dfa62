# SPDX-License-Identifier: Apache-2.0
"""Scaled dot product attention."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.lax.core.values import dtype_of
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.promotion import convert

from .normalization import logsumexp, softmax

__all__ = ["dot_product_attention"]

# Masked logits are this fraction of the largest number of the dtype. They are finite, because the
# softmax of a fully masked row would be NaN otherwise.
MASKED_FRACTION = -0.7


def dot_product_attention(
    query: ArrayLike,
    key: ArrayLike,
    value: ArrayLike,
    bias: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    *,
    scale: ArrayLike | None = None,
    is_causal: bool = False,
    query_seq_lengths: ArrayLike | None = None,
    key_value_seq_lengths: ArrayLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
    implementation: str | None = None,
    return_residual: bool = False,
) -> Any:  # an array; with return_residual a pair
    """Computes ``softmax(query @ key.T * scale + bias) @ value``, for several heads.

    The shapes below have B batches, T positions of queries, S positions of keys and values, and H
    channels. There are N heads of queries and K heads of keys and values. K divides N, and N // K
    heads of queries share one head of keys and values.

    Args:
      query: an array of shape (B, T, N, H), or without B.
      key: an array of shape (B, S, K, H), or without B.
      value: an array of the shape of ``key``.
      bias: array that is added to the logits; it broadcasts to (B, N, T, S).
      mask: booleans, False where a query does not attend to a key; it broadcasts to (B, N, T, S).
      scale: factor of the logits, which broadcasts to their shape; ``1 / sqrt(H)`` if None.
      is_causal: whether a position attends only to itself and to earlier positions.
      query_seq_lengths: the number of query positions, int32 of shape (B,). The result is zero at
        later positions.
      key_value_seq_lengths: the number of key positions to attend to, int32 of shape (B,).
      local_window_size: the numbers of positions to the left and to the right that a query attends
        to: a pair, or one number for both.
      implementation: ``"xla"`` or None, which have the same meaning.
      return_residual: whether to also return the residual: the logarithms of the sums of the
        exponentiated logits, of shape (B, T, N).

    Returns:
      An array of the shape of ``query``, or the pair of that array and the residual.

    Raises:
      ValueError: shapes or dtypes do not fit, or the implementation is unknown.
      RuntimeError: ``implementation="cudnn"``, as in JAX on machines without cuDNN.

    Example:
      >>> x = np.ones((5, 2, 4), np.float32)
      >>> dot_product_attention(x, x, x, is_causal=True).shape
      (5, 2, 4)
    """
    if implementation == "cudnn":
        raise RuntimeError(
            "cuDNN is not called by dot_product_attention: leave implementation out."
        )
    if implementation not in (None, "xla"):
        raise ValueError(
            f"Unsupported implementation option: {implementation}. Expected 'xla' or None."
        )
    query, key, value = onp.asarray(query), onp.asarray(key), onp.asarray(value)
    result_shape = query.shape
    if query.ndim == 3:
        query, key, value = (
            onp.expand_dims(x, 0) if x.ndim == 3 else x for x in (query, key, value)
        )
    bias, mask = _with_batch(bias), _with_batch(mask)
    _check_operands(query, key, value)
    batches, query_length, heads, channels = query.shape
    logits_shape = (batches, heads, query_length, key.shape[1])
    _check_logits_operand("bias", bias, logits_shape)
    _check_logits_operand("mask", mask, logits_shape)
    if mask is not None and dtype_of(mask) != np.bool_:
        raise ValueError(f"mask dtype should be bool, but got {dtype_of(mask)}")
    query_lengths = _lengths("query_seq_lengths", query_seq_lengths, batches)
    key_lengths = _lengths("key_value_seq_lengths", key_value_seq_lengths, batches)

    groups = key.shape[2]
    query = onp.reshape(query, (batches, query_length, groups, heads // groups, channels))
    one_of_group = functools.partial(
        _attend,
        query_lengths=query_lengths,
        key_lengths=key_lengths,
        is_causal=is_causal,
        scale=1 / math.sqrt(max(channels, 1)) if scale is None else scale,
        window=_window(local_window_size),
        return_residual=return_residual,
    )
    on_logits = {
        name: _split_heads(x, groups, heads // groups)
        for name, x in (("bias", bias), ("mask", mask))
        if x is not None
    }
    mapped = vmap(one_of_group, in_axes=(3, None, None, 2), out_axes=3)
    result = mapped(query, key, value, on_logits)
    if return_residual:
        encoded, residual = result
        return onp.reshape(encoded, result_shape), onp.reshape(residual, result_shape[:-1])
    return onp.reshape(result, result_shape)


# ---- operands ----


def _with_batch(x: Any) -> Any:
    """Adds the axes of batches and heads to an operand of the logits, if they are missing."""
    if x is None:
        return None
    x = onp.asarray(x)
    return onp.expand_dims(x, tuple(range(4 - x.ndim))) if x.ndim < 4 else x


def _check_operands(query: Any, key: Any, value: Any) -> None:
    for name, x in (("query", query), ("key", key), ("value", value)):
        if x.ndim != 4:
            raise ValueError(
                f"{name} should have 3 or 4 dimensions, the last three being position, head and "
                f"channel: but got {x.ndim} in shape {x.shape}"
            )
        if x.dtype != key.dtype:
            raise ValueError(f"{name} dtype should be {key.dtype}, but got {x.dtype}")
    if value.shape != key.shape:
        raise ValueError(f"value shape should be {list(key.shape)}: but got {value.shape}")
    batches, _, groups, channels = key.shape
    if (query.shape[0], query.shape[3]) != (batches, channels):
        raise ValueError(
            f"query shape should be [{batches}, -1, -1, {channels}]: but got {query.shape}"
        )
    if query.shape[2] % groups:
        raise ValueError(
            "The number of query heads must be a multiple of key/value heads, but got "
            f"{query.shape[2]} vs {groups}"
        )


def _check_logits_operand(name: str, x: Any, shape: tuple[int, ...]) -> None:
    if x is None:
        return
    if x.ndim != 4 or any(size not in (1, full) for size, full in zip(x.shape, shape)):
        raise ShapeError(f"{name} should broadcast to shape {shape}: but got {x.shape}")


def _lengths(name: str, lengths: Any, batches: int) -> Any:
    if lengths is None:
        return None
    lengths = onp.asarray(lengths)
    if lengths.shape != (batches,):
        raise ValueError(f"{name} shape should be [{batches}]: but got {lengths.shape}")
    if lengths.dtype != np.int32:
        raise ValueError(f"{name} dtype should be int32, but got {lengths.dtype}")
    return lengths


def _window(size: int | Sequence[int] | None) -> tuple[int, int] | None:
    if size is None:
        return None
    if not isinstance(size, Sequence):
        size = operator.index(size)
        return size, size
    if len(size) != 2:
        raise ValueError(
            f"local_window_size should be one number or a pair (left, right): but got {size}"
        )
    left, right = size
    return left, right


def _split_heads(x: Any, groups: int, group_size: int) -> Any:
    """Splits the N query heads of a bias or mask into K groups, one for each key/value head.

    Args:
      x: an array of shape (B, N, T, S), or of shape (B, 1, T, S) if all heads share it.
      groups: the number K of groups.
      group_size: the number N // K of query heads in each group.

    Returns:
      An array of shape (B, K, N // K, T, S), or (B, 1, N // K, T, S) if all heads share it.
    """
    batches, heads, rows, columns = x.shape
    if heads == 1:
        return onp.broadcast_to(onp.expand_dims(x, 2), (batches, 1, group_size, rows, columns))
    return onp.reshape(x, (batches, groups, group_size, rows, columns))


# ---- one head of each group ----


def _attend(
    query: Any,
    key: Any,
    value: Any,
    on_logits: dict[str, Any],
    *,
    query_lengths: Any,
    key_lengths: Any,
    is_causal: bool,
    scale: Any,
    window: tuple[int, int] | None,
    return_residual: bool,
) -> Any:
    """Computes attention for equally many heads of queries, keys and values."""
    bias, mask = on_logits.get("bias"), on_logits.get("mask")
    logits = _logits(query, key, scale)
    if bias is not None:
        logits = onp.add(logits, convert(bias, logits.dtype))
    attended = _attended(logits.shape, mask, is_causal, window, query_lengths, key_lengths)
    if attended is not None:
        lowest = MASKED_FRACTION * float(dtypes.finfo(logits.dtype).max)
        logits = onp.where(attended, logits, np.asarray(lowest, logits.dtype))
    weights = convert(softmax(logits, axis=-1), key.dtype)
    # With the weights first, no backend has to transpose them. They are the largest array.
    encoded = lax.dot_general(weights, value, (((3,), (1,)), ((0, 1), (0, 2))))
    encoded = onp.transpose(encoded, (0, 2, 1, 3))
    if query_lengths is not None:
        present = _below(query.shape[1], query_lengths, (1,), (0,), 2)
        encoded = onp.multiply(encoded, convert(onp.expand_dims(present, (2, 3)), encoded.dtype))
    if not return_residual:
        return encoded
    residual = convert(logsumexp(logits, axis=-1), key.dtype)
    return encoded, lax.stop_gradient(onp.transpose(residual, (0, 2, 1)))


def _logits(query: Any, key: Any, scale: Any) -> Any:
    """Returns the scaled products of queries and keys, (B, N, T, S), in at least float32."""
    bfloats = query.dtype == dtypes.bfloat16
    dtype = onp.promote_types(query.dtype, np.float32)
    scale = convert(scale, dtype) if isinstance(scale, Array) else np.asarray(scale, dtype)
    # Scaling the queries is cheaper than scaling the logits, but rounds once more in half
    # precision.
    scales_queries = query.dtype == dtype and scale.ndim == 0
    if scales_queries:
        query = onp.multiply(query, scale)
    logits = lax.dot_general(
        query,
        key,
        (((3,), (3,)), ((0, 2), (0, 2))),
        precision=lax.DotAlgorithmPreset.BF16_BF16_F32 if bfloats else None,
        preferred_element_type=dtype,
    )
    return logits if scales_queries else onp.multiply(logits, scale)


def _attended(
    shape: tuple[int, ...],
    mask: Any,
    is_causal: bool,
    window: tuple[int, int] | None,
    query_lengths: Any,
    key_lengths: Any,
) -> Any:
    """Returns the mask of the keys that queries attend to; None if they attend to all keys."""
    rows, columns = shape[2:]
    conditions = []
    if mask is not None:
        conditions.append(mask)
    if is_causal:
        conditions.append(onp.tril(onp.ones((rows, columns), np.bool_))[None, None])
    if window is not None:
        left, right = window
        row, column = np.arange(rows)[:, None], np.arange(columns)[None, :]
        near = (row <= column + left) & (row >= column - right)
        conditions.append(near[None, None])
    if query_lengths is not None:
        conditions.append(onp.expand_dims(_below(rows, query_lengths, (1,), (0,), 3), 1))
    if key_lengths is not None:
        conditions.append(onp.expand_dims(_below(columns, key_lengths, (2,), (0,), 3), 1))
    if not conditions:
        return None
    return functools.reduce(onp.logical_and, conditions, onp.ones(shape, np.bool_))


def _below(size: int, lengths: Any, position_axes: tuple, length_axes: tuple, ndim: int) -> Any:
    """Returns the mask ``position < length``, with positions and lengths along the given axes."""
    positions = lax.iota(np.int32, size)

    def spread(x: Any, axes: tuple[int, ...]) -> Any:
        return onp.expand_dims(x, tuple(axis for axis in range(ndim) if axis not in axes))

    return onp.less(spread(positions, position_axes), spread(lengths, length_axes))
