# SPDX-License-Identifier: Apache-2.0
"""Bernoulli, Rademacher and categorical distributions."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.axes import canonical_axis
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.resharding import laid_out

from ..keys.arguments import check_key, checked_shape, compiled, float_dtype, sample_shape
from .continuous import _gumbel, gumbel_mode
from .parameters import in_rank_of
from .shuffling import check_arraylike
from .uniform import _uniform

__all__ = ["bernoulli", "categorical", "rademacher"]


# ---- coins ----


@laid_out
def bernoulli(
    key: ArrayLike,
    p: ArrayLike = 0.5,
    shape: Shape | None = None,
    mode: str = "low",
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples booleans that are true with given probabilities.

    Args:
      key: a key.
      p: the probabilities, a scalar or an array of floats.
      shape: the shape of the result, to which ``p`` broadcasts; by default the shape of ``p``.
      mode: ``"high"`` draws twice as many bits, which makes small probabilities accurate.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      A boolean array of shape ``shape``.

    Raises:
      TypeError: ``p`` does not have a floating dtype.

    Example:
      >>> from olympus_random import bernoulli, key
      >>> bernoulli(key(0), shape=(4,)).dtype
      dtype('bool')
    """
    if mode not in ("high", "low"):
        raise ValueError(f"got mode={mode!r}, expected 'high' or 'low'")
    key, _ = check_key("bernoulli", key)
    dtype = dtypes.dtype(p, canonicalize=True)
    if not dtypes.issubdtype(dtype, np.floating):
        raise TypeError(
            f"bernoulli probability `p` must have a floating dtype, got {dtypes.name_of(dtype)}."
        )
    shape = np.shape(p) if shape is None else sample_shape(shape)
    checked_shape("bernoulli", shape, np.shape(p))
    return _bernoulli(key, p, shape=shape, mode=mode)


@compiled("shape", "mode")
def _bernoulli(key: Any, p: Any, *, shape: tuple[int, ...], mode: str) -> Any:
    dtype: Any = get_aval(p).dtype
    p = in_rank_of(p, shape)
    if mode == "low":
        return lax.lt(_uniform(key, 0.0, 1.0, shape=shape, dtype=dtype), p)
    pair = _uniform(key, 0.0, 1.0, shape=(2, *shape), dtype=dtype)
    high, low = (lax.index_in_dim(pair, position, 0, keepdims=False) for position in range(2))
    low = lax.mul(low, np.asarray(dtypes.finfo(dtype).eps, dtype))
    return lax.lt(low, lax.sub(p, high))


@laid_out
def rademacher(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples signs: 1 and -1 with equal probability.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: the dtype of the result; the default integer dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Example:
      >>> from olympus_random import key, rademacher
      >>> rademacher(key(0), (2,)).shape
      (2,)
    """
    key, _ = check_key("rademacher", key)
    if dtype is None:
        dtype = dtypes.default_int_dtype()
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "rademacher")
    return _rademacher(key, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _rademacher(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    half = np.asarray(0.5, dtypes.default_float_dtype())
    heads = _bernoulli(key, half, shape=shape, mode="low")
    if dtype == np.bool_:
        return lax.full(shape, True)  # both signs convert to True
    doubled = lax.mul(np.asarray(2, dtype), lax.convert_element_type(heads, dtype))
    return lax.sub(doubled, np.asarray(1, dtype))


# ---- categories ----


@laid_out
def categorical(
    key: ArrayLike,
    logits: ArrayLike,
    axis: int = -1,
    shape: Shape | None = None,
    replace: bool = True,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples indices along an axis, with probabilities given by their logarithms.

    Args:
      key: a key.
      logits: the logarithms of probabilities, which need not be normalized.
      axis: the axis of the categories.
      shape: the shape of the result. ``logits`` without ``axis`` broadcast to its last dimensions;
        dimensions before these hold independent draws. By default there is one draw, without these
        dimensions.
      replace: whether draws for the same logits may be equal.
      mode: the mode of `gumbel`.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      An int32 array of shape ``shape``.

    Raises:
      TypeError: ``logits`` is not an array.
      ValueError: the shapes do not fit, or there are more draws than categories without
        replacement.

    Example:
      >>> import numpy as np
      >>> from olympus_random import categorical, key
      >>> categorical(key(0), np.array([-np.inf, 0.0, -np.inf], np.float32), shape=(3,))
      Array([1, 1, 1], dtype=int32)
    """
    key, _ = check_key("categorical", key)
    check_arraylike("categorical", logits)
    ndim = np.ndim(logits)
    axis = canonical_axis(axis, ndim)
    dtype = float_dtype("gumbel", get_aval(logits).dtype)
    batch_shape = np.shape(logits)[:axis] + np.shape(logits)[axis + 1 :]
    if shape is None:
        shape = batch_shape
    else:
        shape = sample_shape(shape)
        _check_categorical_shape(shape, batch_shape)
        batches = shape[len(shape) - len(batch_shape) :]
        if batches != batch_shape:
            full = (*batches[:axis], np.shape(logits)[axis], *batches[axis:])
            logits = lax.broadcast_in_dim(logits, full, tuple(range(ndim)))
    prefix = shape[: len(shape) - len(batch_shape)]
    options = {"axis": axis, "prefix": prefix, "mode": gumbel_mode(mode), "dtype": dtype}
    if replace:
        return _categorical(key, logits, **options)
    categories, draws = np.shape(logits)[axis], math.prod(prefix)
    if draws > categories:
        raise ValueError(
            f"Number of samples without replacement ({draws}) cannot exceed number of categories "
            f"({categories})."
        )
    return _categorical_once(key, logits, **options)


def _check_categorical_shape(shape: tuple[int, ...], batch_shape: tuple[int, ...]) -> None:
    try:
        fits = lax.broadcast_shapes(shape, batch_shape) == shape
    except ValueError:
        fits = False
    if not fits:
        raise ValueError(
            "categorical requires shape argument to end with the shape of logits without their "
            f"axis, {batch_shape}; got {shape}"
        )


@compiled("axis", "prefix", "mode", "dtype")
def _categorical(
    key: Any, logits: Any, *, axis: int, prefix: tuple[int, ...], mode: str, dtype: Any
) -> Any:
    # The Gumbel-max trick: the index of the largest sum of a logarithm and Gumbel noise is a draw.
    noise = _gumbel(key, shape=(*prefix, *logits.shape), dtype=dtype, mode=mode)
    total = lax.add(noise, lax.expand_dims(logits, tuple(range(len(prefix)))))
    return lax.argmax(total, axis + len(prefix), dtypes.default_int_dtype())


@compiled("axis", "prefix", "mode", "dtype")
def _categorical_once(
    key: Any, logits: Any, *, axis: int, prefix: tuple[int, ...], mode: str, dtype: Any
) -> Any:
    noise = _gumbel(key, shape=logits.shape, dtype=dtype, mode=mode)
    total = lax.add(logits, noise)
    draws = math.prod(prefix)
    _, indices = lax.top_k(total, draws, axis=axis)
    # [..., draw, ...] -> [draw, ...] -> [*prefix, ...]
    indices = lax.transpose(indices, (axis, *(dim for dim in range(total.ndim) if dim != axis)))
    batch_shape = logits.shape[:axis] + logits.shape[axis + 1 :]
    return lax.reshape(indices, (*prefix, *batch_shape))
