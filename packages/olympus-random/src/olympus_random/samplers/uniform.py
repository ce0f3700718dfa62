# SPDX-License-Identifier: Apache-2.0
"""Random bits, uniform floats and uniform integers."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.resharding import laid_out

from ..keys.arguments import check_key, checked_shape, compiled, float_dtype, sample_shape
from ..keys.primitives import random_bits_p, random_split_p

__all__ = ["bits", "randint", "uniform"]


# ---- bits ----


@laid_out
def bits(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples uniformly distributed unsigned integers.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: an unsigned integer dtype; uint32 if None.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not an unsigned integer dtype.

    Example:
      >>> from olympus_random import bits, key
      >>> bits(key(0), (2,))
      Array([4070199207, 4202968722], dtype=uint32)
    """
    key, _ = check_key("bits", key)
    if dtype is None:
        dtype = dtypes.default_uint_dtype()
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "bits")
    if not dtypes.issubdtype(dtype, np.unsignedinteger):
        raise ValueError(
            f"dtype argument to `bits` must be an unsigned int dtype, got {dtypes.name_of(dtype)}"
        )
    return _bits(key, bit_width=dtypes.itemsize_bits(dtype), shape=sample_shape(shape))


@compiled("bit_width", "shape", inline=True)
def _bits(key: Any, *, bit_width: int, shape: tuple[int, ...]) -> Any:
    return random_bits_p.bind(key, bit_width=bit_width, shape=shape)


def two_keys(key: Any) -> tuple[Any, Any]:
    """Splits a key into two keys, while a sampler is being traced."""
    return keys_of(key, 2)


def keys_of(key: Any, count: int) -> tuple[Any, ...]:
    """Splits a key into several keys, while a sampler is being traced."""
    keys = random_split_p.bind(key, shape=(count,))
    return tuple(
        lax.squeeze(lax.slice(keys, (position,), (position + 1,), (1,)), (0,))
        for position in range(count)
    )


# ---- floats ----


@laid_out
def uniform(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    minval: ArrayLike = 0.0,
    maxval: ArrayLike = 1.0,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the uniform distribution on ``[minval, maxval)``.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype; the default float dtype if not given.
      minval: the lower bounds, a scalar or an array that broadcasts to ``shape``. With shape
        ``()``, any array of one element.
      maxval: the upper bounds, in the same forms.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``. With shape ``()``, the shape
      is that of ``minval``.

    Raises:
      ValueError: ``dtype`` is not a float dtype.
      TypeError: the bounds do not broadcast to ``shape``.

    Example:
      >>> from olympus_random import key, uniform
      >>> uniform(key(0), (3,))
      Array([0.947667  , 0.9785799 , 0.33229148], dtype=float32)
    """
    key, _ = check_key("uniform", key)
    dtype = float_dtype("uniform", dtype)
    return _uniform(key, minval, maxval, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _uniform(key: Any, minval: Any, maxval: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    single = np.size(minval) == np.size(maxval) == 1
    if shape or not single:
        checked_shape("uniform", shape, np.shape(minval), np.shape(maxval))
    ends = [lax.convert_element_type(end, dtype) for end in (minval, maxval)]
    minval, maxval = (in_rank(end, len(shape)) for end in ends)
    # Random mantissas with the exponent of one are floats in [1, 2).
    finfo = dtypes.finfo(dtype)
    width, mantissa = finfo.bits, finfo.nmant
    random_width = width
    if mantissa < 8:
        random_width = 8  # enough for the mantissa; several samples share a 32-bit random word
    words = random_bits_p.bind(key, bit_width=random_width, shape=shape)
    word_dtype = np.dtype(f"uint{width}")
    words = lax.convert_element_type(words, word_dtype)
    one = np.ones((), dtype).view(word_dtype)
    words = lax.shift_right_logical(words, np.asarray(random_width - mantissa, word_dtype))
    floats = lax.bitcast_convert_type(lax.bitwise_or(words, one), dtype)
    floats = lax.sub(floats, np.ones((), dtype))
    scaled = lax.add(lax.mul(floats, lax.sub(maxval, minval)), minval)
    # Rounding may have moved a sample below the lower bound.
    return lax.max(minval, lax.reshape(scaled, shape) if scaled.shape != shape else scaled)


def in_rank(value: Any, rank: int) -> Any:
    """Returns a parameter with as many dimensions as the samples."""
    missing = rank - np.ndim(value)
    return lax.expand_dims(value, tuple(range(missing))) if missing > 0 else value


# ---- integers ----


@laid_out
def randint(
    key: ArrayLike,
    shape: Shape,
    minval: ArrayLike,
    maxval: ArrayLike,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the uniform distribution on the integers in ``[minval, maxval)``.

    Args:
      key: a key.
      shape: the shape of the result.
      minval: the lower bounds, a scalar or an array that broadcasts to ``shape``.
      maxval: the upper bounds, which are excluded; a scalar or an array that broadcasts to
        ``shape``.
      dtype: an integer dtype; the default integer dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      TypeError: ``dtype`` is not an integer dtype.

    Example:
      >>> from olympus_random import key, randint
      >>> randint(key(0), (3,), 0, 100)
      Array([89,  0, 12], dtype=int32)
    """
    key, _ = check_key("randint", key)
    if dtype is None:
        dtype = dtypes.default_int_dtype()
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "randint")
    if not dtypes.issubdtype(dtype, np.integer):
        raise TypeError(f"randint only accepts integer dtypes, got {dtypes.name_of(dtype)}")
    shape = sample_shape(shape)
    return _randint(key, minval, maxval, shape=shape, dtype=dtype)


def _randint_of(key: Any, minval: Any, maxval: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Samples integers of 32 or 64 bits."""
    checked_shape("randint", shape, np.shape(minval), np.shape(maxval))
    limits = dtypes.iinfo(dtype)
    # An end just past the largest integer does not fit the dtype, so it is clipped. A flag records
    # this, and the span is extended by one.
    largest = min(int(limits.max), int(dtypes.iinfo(maxval.dtype).max))
    past_the_end = lax.gt(maxval, np.asarray(largest, maxval.dtype))
    minval, maxval = clipped_to(minval, dtype), clipped_to(maxval, dtype)
    past_the_end, minval, maxval = (
        in_rank(value, len(shape)) for value in (past_the_end, minval, maxval)
    )
    width = dtypes.itemsize_bits(dtype)
    word = np.dtype(f"uint{width}")
    high, low = (
        random_bits_p.bind(key_part, bit_width=width, shape=shape) for key_part in two_keys(key)
    )
    one = np.ones((), word)
    span = lax.convert_element_type(lax.sub(maxval, minval), word)
    # If the range is empty, samples are equal to its start.
    span = lax.select_n(lax.le(maxval, minval), span, lax.full(np.shape(span), 1, word))
    is_full = lax.bitwise_and(past_the_end, lax.gt(maxval, minval))
    span = lax.select_n(_like(is_full, span), span, lax.add(span, one))
    # The offset is a random number of twice the width, modulo the span. The weight of the number's
    # higher half is 2**width. A span of zero means the full range; rem then returns its operand.
    factor = lax.rem(np.asarray(1 << (width // 2), word), span)
    factor = lax.rem(lax.mul(factor, factor), span)
    offset = lax.add(lax.mul(lax.rem(high, span), factor), lax.rem(low, span))
    offset = lax.rem(offset, span)
    return lax.add(minval, lax.convert_element_type(offset, dtype))


def _like(flags: Any, like: Any) -> Any:
    """Returns flags, broadcast to the shape of the values that they select."""
    shape = np.shape(like)
    if np.shape(flags) == shape:
        return flags
    return lax.broadcast_in_dim(flags, shape, tuple(range(len(shape))))


def clipped_to(value: Any, dtype: Any) -> Any:
    """Returns integers in another dtype, clipped to its range."""
    own, other = dtypes.iinfo(value.dtype), dtypes.iinfo(dtype)
    smallest, largest = max(int(own.min), int(other.min)), min(int(own.max), int(other.max))
    if (smallest, largest) != (int(own.min), int(own.max)):
        bounds = (np.asarray(bound, value.dtype) for bound in (smallest, largest))
        lower, upper = bounds
        value = lax.clamp(lower, value, upper)
    return lax.convert_element_type(value, dtype)


def _as_integers(value: Any, dtype: Any) -> Any:
    """Returns a parameter as an array of integers; floats are truncated."""
    aval: Any = get_aval(value)
    if dtypes.issubdtype(aval.dtype, np.integer):
        return lax.convert_element_type(value, aval.dtype)
    return lax.convert_element_type(value, dtype)


@compiled("shape", "dtype")
def _randint(key: Any, minval: Any, maxval: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    if dtypes.itemsize_bits(dtype) >= 32:
        minval, maxval = _as_integers(minval, dtype), _as_integers(maxval, dtype)
        return _randint_of(key, minval, maxval, shape, dtype)
    # Narrow integers are sampled as wider integers, since the ends of their range always fit the
    # wider dtype.
    limits = dtypes.iinfo(dtype)
    wide = np.dtype(np.int32)
    smallest, past_largest = np.int32(limits.min), np.int32(int(limits.max) + 1)
    minval, maxval = (clipped_to(_as_integers(bound, wide), wide) for bound in (minval, maxval))
    minval = lax.clamp(smallest, minval, np.int32(limits.max))
    maxval = lax.clamp(smallest, maxval, past_largest)
    return lax.convert_element_type(_randint_of(key, minval, maxval, shape, wide), dtype)
