# SPDX-License-Identifier: Apache-2.0
"""Continuous distributions whose samples are functions of uniform samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.settings import config_flags
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.resharding import laid_out

from ..keys.arguments import (
    check_key,
    compiled,
    float_dtype,
    sample_shape,
)
from .parameters import in_rank_of, parameters_shape, scalar
from .uniform import _uniform, two_keys

__all__ = [
    "cauchy",
    "exponential",
    "gumbel",
    "laplace",
    "logistic",
    "lognormal",
    "normal",
    "truncated_normal",
]


# ---- normal ----


@laid_out
def normal(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the standard normal distribution.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float or complex dtype; the default float dtype if None. The real and imaginary parts
        of complex samples have variance 1/2 each.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float or complex dtype.

    Example:
      >>> from olympus_random import key, normal
      >>> normal(key(0), (2,)).shape
      (2,)
    """
    key, _ = check_key("normal", key)
    dtype = float_dtype("normal", dtype, complex_too=True)
    return _normal(key, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _normal(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    if not dtypes.issubdtype(dtype, np.complexfloating):
        return _normal_real(key, shape=shape, dtype=dtype)
    parts = [
        lax.convert_element_type(
            _normal_real(key_part, shape=shape, dtype=np.finfo(dtype).dtype), dtype
        )
        for key_part in two_keys(key)
    ]
    real, imaginary = parts
    total = lax.add(real, lax.mul(scalar(1j, dtype), imaginary))
    return lax.div(total, scalar(np.sqrt(2), dtype))


@compiled("shape", "dtype")
def _normal_real(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    above_minus_one = np.nextafter(scalar(-1, dtype), scalar(0, dtype), dtype=dtype)
    u = _uniform(key, above_minus_one, scalar(1, dtype), shape=shape, dtype=dtype)
    return lax.mul(scalar(np.sqrt(2), dtype), lax.erf_inv(u))


@laid_out
def truncated_normal(
    key: ArrayLike,
    lower: ArrayLike,
    upper: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the standard normal distribution, truncated to an interval.

    Args:
      key: a key.
      lower: the lower bounds, a scalar or an array.
      upper: the upper bounds, a scalar or an array.
      shape: the shape of the result, to which the bounds broadcast; their common shape by default.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype or the shapes do not fit.

    Example:
      >>> from olympus_random import key, truncated_normal
      >>> truncated_normal(key(0), -1.0, 1.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("truncated_normal", key)
    dtype = float_dtype("truncated_normal", dtype)
    shape = parameters_shape("truncated_normal", shape, lower, upper)
    return _truncated_normal(key, lower, upper, shape=shape, dtype=dtype)


@compiled("shape", "dtype")
def _truncated_normal(
    key: Any, lower: Any, upper: Any, *, shape: tuple[int, ...], dtype: Any
) -> Any:
    root = scalar(np.sqrt(2), dtype)
    lower, upper = (lax.convert_element_type(bound, dtype) for bound in (lower, upper))
    ends = [lax.erf(lax.div(bound, root)) for bound in (lower, upper)]
    u = _uniform(key, *ends, shape=shape, dtype=dtype)
    out = lax.mul(root, lax.erf_inv(u))
    # Rounding may have moved a sample to a bound or past it.
    above = lax.nextafter(lax.stop_gradient(lower), scalar(np.inf, dtype))
    below = lax.nextafter(lax.stop_gradient(upper), scalar(-np.inf, dtype))
    out = lax.max(in_rank_of(above, shape), out)
    return lax.min(in_rank_of(below, shape), out)


@laid_out
def lognormal(
    key: ArrayLike,
    sigma: ArrayLike = 1.0,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the log-normal distribution: exponentials of normal samples of mean zero.

    Args:
      key: a key.
      sigma: the standard deviations of the logarithms, a scalar or an array.
      shape: the shape of the result, to which ``sigma`` broadcasts; by default the shape of
        ``sigma``.
      dtype: a float or complex dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float or complex dtype, or the shapes do not fit.

    Example:
      >>> from olympus_random import key, lognormal
      >>> lognormal(key(0), shape=(2,)).shape
      (2,)
    """
    key, _ = check_key("lognormal", key)
    dtype = float_dtype("lognormal", dtype, complex_too=True)
    shape = parameters_shape("lognormal", shape, sigma, dtype=dtype)
    return _lognormal(key, sigma, shape=shape, dtype=dtype)


@compiled("shape", "dtype")
def _lognormal(key: Any, sigma: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    sigma = in_rank_of(lax.convert_element_type(sigma, dtype), shape)
    return lax.exp(lax.mul(_normal(key, shape=shape, dtype=dtype), sigma))


# ---- exponential and derived distributions ----


@laid_out
def exponential(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the exponential distribution with mean one.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype.

    Example:
      >>> from olympus_random import exponential, key
      >>> exponential(key(0), (2,)).shape
      (2,)
    """
    key, _ = check_key("exponential", key)
    dtype = float_dtype("exponential", dtype)
    return _exponential(key, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _exponential(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=dtype)
    # The logarithm of 1 - u is finite, since u may be zero but never one.
    return lax.neg(lax.log1p(lax.neg(u)))


@laid_out
def laplace(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the Laplace distribution with mean zero and scale one.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype.

    Example:
      >>> from olympus_random import key, laplace
      >>> laplace(key(0), (2,)).shape
      (2,)
    """
    key, _ = check_key("laplace", key)
    dtype = float_dtype("laplace", dtype)
    return _laplace(key, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _laplace(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    epsneg = scalar(dtypes.finfo(dtype).epsneg, dtype)
    u = _uniform(key, -1 + epsneg, 1.0, shape=shape, dtype=dtype)
    return lax.mul(lax.sign(u), lax.log1p(lax.neg(lax.abs(u))))


@laid_out
def gumbel(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    mode: str | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the standard Gumbel distribution.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype; the default float dtype if not given.
      mode: ``"high"`` draws twice as many bits, which makes rare large samples accurate; ``"low"``
        does not; the configured mode if None.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype, or ``mode`` is unknown.

    Example:
      >>> from olympus_random import gumbel, key
      >>> gumbel(key(0), (2,)).shape
      (2,)
    """
    key, _ = check_key("gumbel", key)
    dtype = float_dtype("gumbel", dtype)
    return _gumbel(key, shape=sample_shape(shape), dtype=dtype, mode=gumbel_mode(mode))


def gumbel_mode(mode: str | None) -> str:
    """Returns the mode of `gumbel`; the configured mode for None.

    Raises:
      ValueError: the mode is unknown.
    """
    if mode is None:
        return "high" if config_flags.high_dynamic_range_gumbel.value else "low"
    if mode not in ("high", "low"):
        raise ValueError(f"Must provide valid mode for gumbel got: {mode!r}; it is 'high' or 'low'")
    return mode


@compiled("shape", "dtype", "mode")
def _gumbel(key: Any, *, shape: tuple[int, ...], dtype: Any, mode: str) -> Any:
    finfo = dtypes.finfo(dtype)
    tiny = scalar(finfo.tiny, dtype)
    if mode == "low":
        u = _uniform(key, tiny, 1.0, shape=shape, dtype=dtype)
        return lax.neg(lax.log(lax.neg(lax.log(u))))
    pair = _uniform(key, 0.0, 1.0, shape=(2, *shape), dtype=dtype)
    high, low = (lax.index_in_dim(pair, position, 0, keepdims=False) for position in range(2))
    # In the upper half, the first sample is as fine as the spacing of floats, and needs no
    # refinement.
    refined = lax.add(lax.add(high, lax.mul(scalar(finfo.eps, dtype), low)), tiny)
    u = lax.select_n(lax.ge(high, scalar(0.5, dtype)), refined, high)
    return lax.neg(lax.log(lax.neg(lax.log1p(lax.neg(u)))))


# ---- other distributions ----


@laid_out
def logistic(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the standard logistic distribution.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype.

    Example:
      >>> from olympus_random import key, logistic
      >>> logistic(key(0), (2,)).shape
      (2,)
    """
    key, _ = check_key("logistic", key)
    dtype = float_dtype("logistic", dtype)
    return _logistic(key, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _logistic(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    tiny = scalar(dtypes.finfo(dtype).tiny, dtype)
    u = _uniform(key, tiny, 1.0, shape=shape, dtype=dtype)
    return lax.sub(lax.log(u), lax.log1p(lax.neg(u)))


@laid_out
def cauchy(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the standard Cauchy distribution.

    Args:
      key: a key.
      shape: the shape of the result.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype.

    Example:
      >>> from olympus_random import cauchy, key
      >>> cauchy(key(0), (2,)).shape
      (2,)
    """
    key, _ = check_key("cauchy", key)
    dtype = float_dtype("cauchy", dtype)
    return _cauchy(key, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _cauchy(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    eps = scalar(dtypes.finfo(dtype).eps, dtype)
    u = _uniform(key, eps, 1.0, shape=shape, dtype=dtype)
    return lax.tan(lax.mul(scalar(np.pi, dtype), lax.sub(u, scalar(0.5, dtype))))
