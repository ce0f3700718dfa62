# SPDX-License-Identifier: Apache-2.0
"""Distributions whose samples are computed from simpler samples by a formula."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.resharding import laid_out

from ..keys.arguments import check_key, compiled, float_dtype, refuse_complex, sample_shape
from .continuous import _exponential, _normal_real
from .discrete import _rademacher
from .parameters import as_dtype, broadcast_parameter, parameters_shape, scalar
from .uniform import _uniform, two_keys

__all__ = [
    "double_sided_maxwell",
    "geometric",
    "maxwell",
    "pareto",
    "rayleigh",
    "triangular",
    "wald",
    "weibull_min",
]


@laid_out
def pareto(
    key: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the Pareto distribution.

    Args:
      key: a key.
      b: the shape parameters, a scalar or an array.
      shape: the shape of the result, to which ``b`` broadcasts; by default the shape of ``b``.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype, or the shapes do not fit.

    Example:
      >>> from olympus_random import key, pareto
      >>> pareto(key(0), 2.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("pareto", key)
    dtype = float_dtype("pareto", dtype)
    return _pareto(key, b, shape=parameters_shape("pareto", shape, b, dtype=dtype), dtype=dtype)


@compiled("shape", "dtype")
def _pareto(key: Any, b: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    e = _exponential(key, shape=shape, dtype=dtype)
    return lax.exp(lax.div(e, broadcast_parameter(as_dtype(b, dtype), shape)))


@laid_out
def rayleigh(
    key: ArrayLike,
    scale: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the Rayleigh distribution.

    Args:
      key: a key.
      scale: the scales, a scalar or an array.
      shape: the shape of the result, to which ``scale`` broadcasts; by default the shape of
        ``scale``.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype, or the shapes do not fit.

    Example:
      >>> from olympus_random import key, rayleigh
      >>> rayleigh(key(0), 1.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("rayleigh", key)
    dtype = float_dtype("rayleigh", dtype)
    return _rayleigh(
        key, scale, shape=parameters_shape("rayleigh", shape, scale, dtype=dtype), dtype=dtype
    )


@compiled("shape", "dtype")
def _rayleigh(key: Any, scale: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=dtype)
    root = lax.sqrt(lax.mul(lax.log(u), scalar(-2, dtype)))
    return lax.mul(broadcast_parameter(as_dtype(scale, dtype), shape), root)


def weibull_min(
    key: ArrayLike,
    scale: ArrayLike,
    concentration: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Samples the Weibull distribution.

    Args:
      key: a key.
      scale: the scales, a scalar or an array.
      concentration: the concentrations (shape parameters), a scalar or an array.
      shape: the shape of the draws; the parameters broadcast with it.
      dtype: a float dtype; the default float dtype if not given.

    Returns:
      The samples, of dtype ``dtype`` and the broadcast shape of ``shape`` and the parameters.

    Raises:
      ValueError: ``dtype`` is not a float dtype, or the shapes do not fit.

    Example:
      >>> from olympus_random import key, weibull_min
      >>> weibull_min(key(0), 1.0, 2.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("weibull_min", key)
    dtype = float_dtype("weibull_min", dtype)
    refuse_complex("weibull_min", dtype, scale, concentration)
    return _weibull_min(key, scale, concentration, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _weibull_min(
    key: Any, scale: Any, concentration: Any, *, shape: tuple[int, ...], dtype: Any
) -> Any:
    e = _exponential(key, shape=shape, dtype=dtype)
    power = lax.div(scalar(1, dtype), lax.convert_element_type(concentration, dtype))
    shape = lax.broadcast_shapes(shape, np.shape(scale), np.shape(power))
    e, power, scale = (
        broadcast_parameter(as_dtype(parameter, dtype), shape) for parameter in (e, power, scale)
    )
    return lax.mul(lax.pow(e, power), scale)


@laid_out
def maxwell(
    key: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the Maxwell distribution with scale one.

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
      >>> from olympus_random import key, maxwell
      >>> maxwell(key(0), (2,)).shape
      (2,)
    """
    key, _ = check_key("maxwell", key)
    dtype = float_dtype("maxwell", dtype)
    return _maxwell(key, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _maxwell(key: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    # A sample is the length of a normally distributed vector in three dimensions.
    vectors = _normal_real(key, shape=(*shape, 3), dtype=dtype)
    return lax.sqrt(lax.reduce_sum(lax.mul(vectors, vectors), (len(shape),)))


def double_sided_maxwell(
    key: ArrayLike,
    loc: ArrayLike,
    scale: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
) -> Array:
    """Samples the Maxwell distribution with random signs.

    Args:
      key: a key.
      loc: the locations, a scalar or an array.
      scale: the scales, a scalar or an array.
      shape: the batch shape. In the result, the shape of the parameters follows the batch shape.
      dtype: a float dtype; the default float dtype if not given.

    Returns:
      The samples, of dtype ``dtype``. Their shape is ``shape`` followed by the parameters' shape.

    Raises:
      ValueError: ``dtype`` is not a float dtype, or the shapes do not fit.

    Example:
      >>> from olympus_random import double_sided_maxwell, key
      >>> double_sided_maxwell(key(0), 0.0, 1.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("double_sided_maxwell", key)
    dtype = float_dtype("double_sided_maxwell", dtype)
    refuse_complex("double_sided_maxwell", dtype, loc, scale)
    shape = sample_shape(shape) + lax.broadcast_shapes(np.shape(loc), np.shape(scale))
    return _double_sided_maxwell(key, loc, scale, shape=shape, dtype=dtype)


@compiled("shape", "dtype")
def _double_sided_maxwell(
    key: Any, loc: Any, scale: Any, *, shape: tuple[int, ...], dtype: Any
) -> Any:
    length_key, sign_key = two_keys(key)
    lengths = _maxwell(length_key, shape=shape, dtype=dtype)
    signs = _rademacher(sign_key, shape=shape, dtype=dtype)
    scaled = lax.mul(lax.mul(signs, lengths), broadcast_parameter(as_dtype(scale, dtype), shape))
    return lax.add(scaled, broadcast_parameter(as_dtype(loc, dtype), shape))


@laid_out
def triangular(
    key: ArrayLike,
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the triangular distribution.

    Args:
      key: a key.
      left: the lower ends, a scalar or an array.
      mode: the modes, a scalar or an array.
      right: the upper ends, a scalar or an array.
      shape: the shape of the result, to which the parameters broadcast; by default, their common
        shape.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype, or the shapes do not fit.

    Example:
      >>> from olympus_random import key, triangular
      >>> triangular(key(0), 0.0, 0.5, 1.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("triangular", key)
    dtype = float_dtype("triangular", dtype)
    shape = parameters_shape("triangular", shape, left, mode, right, dtype=dtype)
    return _triangular(key, left, mode, right, shape=shape, dtype=dtype)


@compiled("shape", "dtype")
def _triangular(
    key: Any, left: Any, mode: Any, right: Any, *, shape: tuple[int, ...], dtype: Any
) -> Any:
    left, mode, right = (
        broadcast_parameter(as_dtype(value, dtype), shape) for value in (left, mode, right)
    )
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=dtype)
    width, below, above = lax.sub(right, left), lax.sub(mode, left), lax.sub(right, mode)
    rising = lax.add(left, lax.sqrt(lax.mul(lax.mul(u, width), below)))
    rest = lax.mul(lax.mul(lax.sub(scalar(1, dtype), u), width), above)
    falling = lax.sub(right, lax.sqrt(rest))
    return lax.select(lax.lt(u, lax.div(below, width)), rising, falling)


@laid_out
def wald(
    key: ArrayLike,
    mean: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the Wald (inverse Gaussian) distribution with scale one.

    Michael, Schucany, Haas: Generating random variates using transformations with multiple roots.
    Amer. Statist. 30 (1976).

    Args:
      key: a key.
      mean: the means, a scalar or an array.
      shape: the shape of the result, to which ``mean`` broadcasts; by default the shape of
        ``mean``.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype, or the shapes do not fit.

    Example:
      >>> from olympus_random import key, wald
      >>> wald(key(0), 1.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("wald", key)
    dtype = float_dtype("wald", dtype)
    return _wald(key, mean, shape=parameters_shape("wald", shape, mean, dtype=dtype), dtype=dtype)


@compiled("shape", "dtype")
def _wald(key: Any, mean: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    normal_key, uniform_key = two_keys(key)
    mean = broadcast_parameter(as_dtype(mean, dtype), shape)
    v = _normal_real(normal_key, shape=shape, dtype=dtype)
    u = _uniform(uniform_key, 0.0, 1.0, shape=shape, dtype=dtype)
    y, mean_squared = lax.integer_pow(v, 2), lax.integer_pow(mean, 2)
    y_squared = lax.integer_pow(y, 2)
    two = scalar(2, dtype)
    root = lax.sqrt(
        lax.add(lax.mul(lax.mul(scalar(4, dtype), mean), y), lax.mul(mean_squared, y_squared))
    )
    center = lax.add(mean, lax.div(lax.mul(mean_squared, y), two))
    x = lax.sub(center, lax.mul(lax.div(mean, two), root))
    is_smaller = lax.le(u, lax.div(mean, lax.add(mean, x)))
    return lax.select(is_smaller, x, lax.div(mean_squared, x))


@laid_out
def geometric(
    key: ArrayLike,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the geometric distribution: the number of trials up to the first success.

    Args:
      key: a key.
      p: the probabilities of success, a scalar or an array.
      shape: the shape of the result, to which ``p`` broadcasts; by default the shape of ``p``.
      dtype: an integer dtype; the default integer dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not an integer dtype, or the shapes do not fit.

    Example:
      >>> from olympus_random import geometric, key
      >>> geometric(key(0), 0.5, (2,)).shape
      (2,)
    """
    key, _ = check_key("geometric", key)
    if dtype is None:
        dtype = dtypes.default_int_dtype()
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "geometric")
    if not dtypes.issubdtype(dtype, np.integer):
        raise ValueError(
            f"dtype argument to `geometric` must be an int dtype, got {dtypes.name_of(dtype)}"
        )
    if dtypes.issubdtype(dtypes.dtype(p), np.complexfloating):
        raise ValueError("geometric: p must be a probability, got a complex number")
    return _geometric(key, p, shape=parameters_shape("geometric", shape, p), dtype=dtype)


@compiled("shape", "dtype")
def _geometric(key: Any, p: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    float_type = dtypes.to_inexact_dtype(get_aval(p).dtype)
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=float_type)
    one = scalar(1, float_type)
    u = lax.select(lax.eq(u, scalar(0, float_type)), lax.full(shape, one), u)
    log_of_failure = lax.log1p(lax.neg(lax.convert_element_type(p, float_type)))
    trials = lax.floor(
        lax.div(lax.log(u), broadcast_parameter(as_dtype(log_of_failure, float_type), shape))
    )
    return lax.convert_element_type(lax.add(trials, one), dtype)
