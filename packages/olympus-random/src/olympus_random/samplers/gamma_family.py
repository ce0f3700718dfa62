# SPDX-License-Identifier: Apache-2.0
"""Distributions built on the gamma distribution."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.resharding import laid_out

from ..keys.arguments import (
    check_key,
    checked_shape,
    compiled,
    float_dtype,
    refuse_complex,
    sample_shape,
)
from .continuous import _exponential, _normal
from .discrete import _rademacher
from .gamma import _gamma
from .parameters import as_dtype, broadcast_array, broadcast_parameter, parameters_shape, scalar
from .uniform import two_keys

__all__ = ["ball", "beta", "chisquare", "dirichlet", "f", "generalized_normal", "t"]


@laid_out
def beta(
    key: ArrayLike,
    a: ArrayLike,
    b: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the beta distribution.

    Args:
      key: a key.
      a: the first parameters, a scalar or an array.
      b: the second parameters, a scalar or an array.
      shape: the shape of the result, to which the parameters broadcast; by default, their common
        shape.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype or the shapes do not fit.

    Example:
      >>> from olympus_random import beta, key
      >>> beta(key(0), 2.0, 3.0, (3,)).shape
      (3,)
    """
    key, _ = check_key("beta", key)
    dtype = float_dtype("beta", dtype)
    return _beta(key, a, b, shape=parameters_shape("beta", shape, a, b, dtype=dtype), dtype=dtype)


@compiled("shape", "dtype")
def _beta(key: Any, a: Any, b: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    a, b = as_dtype(a, dtype), as_dtype(b, dtype)
    keys = two_keys(key)
    a, b = broadcast_parameter(a, shape), broadcast_parameter(b, shape)
    log_a, log_b = (
        _gamma(gamma_key, parameter, shape=shape, dtype=dtype, log_space=True)
        for gamma_key, parameter in zip(keys, (a, b), strict=True)
    )
    # A sample is a / (a + b) for gamma samples a and b. It is computed from their logarithms, since
    # both may be too small for the dtype.
    largest = lax.max(log_a, log_b)
    gamma_a = lax.exp(lax.sub(log_a, largest))
    gamma_b = lax.exp(lax.sub(log_b, largest))
    return lax.div(gamma_a, lax.add(gamma_a, gamma_b))


@laid_out
def dirichlet(
    key: ArrayLike,
    alpha: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the Dirichlet distribution: vectors of probabilities.

    Args:
      key: a key.
      alpha: the concentrations, of shape (..., n).
      shape: the shape of the result without its last axis. The shape of ``alpha`` without its last
        axis broadcasts to this shape, and is the default.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape (*shape, n) and dtype ``dtype``.

    Raises:
      ValueError: ``alpha`` is a scalar, ``dtype`` is not a float dtype, or the shapes do not fit.

    Example:
      >>> import numpy as np
      >>> from olympus_random import dirichlet, key
      >>> dirichlet(key(0), np.ones(3, np.float32), (2,)).shape
      (2, 3)
    """
    key, _ = check_key("dirichlet", key)
    dtype = float_dtype("dirichlet", dtype)
    if np.ndim(alpha) < 1:
        raise ValueError(f"dirichlet requires alpha.ndim >= 1, got alpha.ndim == {np.ndim(alpha)}")
    batch_shape = np.shape(alpha)[:-1]
    if shape is None:
        shape = batch_shape
    else:
        shape = sample_shape(shape)
        checked_shape("dirichlet", shape, batch_shape)
    return _dirichlet(key, alpha, shape=shape, dtype=dtype)


@compiled("shape", "dtype")
def _dirichlet(key: Any, alpha: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    alpha = as_dtype(alpha, dtype)
    full = (*shape, alpha.shape[-1])
    logarithms = _gamma(key, alpha, shape=full, dtype=dtype, log_space=True)
    axis, others = len(shape), tuple(range(len(shape)))
    column = (*shape, 1)
    largest = lax.max(scalar(-np.inf, dtype), lax.reduce_max(logarithms, (axis,)))
    largest = lax.stop_gradient(lax.broadcast_in_dim(largest, column, others))
    weights = lax.exp(lax.sub(logarithms, largest))
    total = lax.broadcast_in_dim(lax.reduce_sum(weights, (axis,)), column, others)
    return lax.div(weights, total)


@laid_out
def chisquare(
    key: ArrayLike,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the chi-square distribution.

    Args:
      key: a key.
      df: the degrees of freedom, a scalar or an array.
      shape: the shape of the result, to which ``df`` broadcasts; by default the shape of ``df``.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype or the shapes do not fit.

    Example:
      >>> from olympus_random import chisquare, key
      >>> chisquare(key(0), 3.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("chisquare", key)
    dtype = float_dtype("chisquare", dtype)
    return _chisquare(
        key, df, shape=parameters_shape("chisquare", shape, df, dtype=dtype), dtype=dtype
    )


@compiled("shape", "dtype")
def _chisquare(key: Any, df: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    two = scalar(2, dtype)
    half = lax.div(as_dtype(df, dtype), two)
    logarithms = _gamma(key, half, shape=shape, dtype=dtype, log_space=True)
    return lax.mul(lax.exp(logarithms), two)


@laid_out
def f(
    key: ArrayLike,
    dfnum: ArrayLike,
    dfden: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the F distribution.

    Args:
      key: a key.
      dfnum: the degrees of freedom of the numerator, a scalar or an array.
      dfden: the degrees of freedom of the denominator, a scalar or an array.
      shape: the shape of the result, to which the parameters broadcast; by default, their common
        shape.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype or the shapes do not fit.

    Example:
      >>> from olympus_random import f, key
      >>> f(key(0), 3.0, 4.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("f", key)
    dtype = float_dtype("f", dtype)
    shape = parameters_shape("f", shape, dfnum, dfden, dtype=dtype)
    return _f(key, dfnum, dfden, shape=shape, dtype=dtype)


@compiled("shape", "dtype")
def _f(key: Any, dfnum: Any, dfden: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    dfden, dfnum = as_dtype(dfden, dtype), as_dtype(dfnum, dtype)
    key_of_denominator, key_of_numerator = two_keys(key)
    numerator = _chisquare(key_of_numerator, dfnum, shape=shape, dtype=dtype)
    denominator = _chisquare(key_of_denominator, dfden, shape=shape, dtype=dtype)
    return lax.div(
        lax.div(numerator, broadcast_array(dfnum, shape)),
        lax.div(denominator, broadcast_array(dfden, shape)),
    )


@laid_out
def t(
    key: ArrayLike,
    df: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples Student's t distribution.

    Args:
      key: a key.
      df: the degrees of freedom, a scalar or an array.
      shape: the shape of the result, to which ``df`` broadcasts; by default the shape of ``df``.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype or the shapes do not fit.

    Example:
      >>> from olympus_random import key, t
      >>> t(key(0), 3.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("t", key)
    dtype = float_dtype("t", dtype)
    return _t(key, df, shape=parameters_shape("t", shape, df, dtype=dtype), dtype=dtype)


@compiled("shape", "dtype")
def _t(key: Any, df: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    df = as_dtype(df, dtype)
    normal_key, gamma_key = two_keys(key)
    numerator = _normal(normal_key, shape=shape, dtype=dtype)
    half = lax.div(df, scalar(2, dtype))
    denominator = _gamma(gamma_key, half, shape=shape, dtype=dtype, log_space=False)
    return lax.mul(numerator, lax.sqrt(lax.div(broadcast_array(half, shape), denominator)))


# ---- generalized normal samples ----


def _one_over(p: Any) -> Any:
    """Returns the inverse of a parameter; integers become floats."""
    aval: Any = get_aval(p)
    if not dtypes.issubdtype(aval.dtype, np.floating):
        p = lax.convert_element_type(p, float if aval.weak_type else dtypes.default_float_dtype())
        aval = get_aval(p)
    return lax.div(scalar(1, aval.dtype) if not aval.weak_type else 1.0, p)


@laid_out
def generalized_normal(
    key: ArrayLike,
    p: ArrayLike,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the generalized normal distribution, of density proportional to ``exp(-|x|**p)``.

    Args:
      key: a key.
      p: the shape parameter.
      shape: the shape of the result.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype.

    Example:
      >>> from olympus_random import generalized_normal, key
      >>> generalized_normal(key(0), 2.0, (2,)).shape
      (2,)
    """
    key, _ = check_key("generalized_normal", key)
    dtype = float_dtype("generalized_normal", dtype)
    refuse_complex("generalized_normal", dtype, p)
    return _generalized_normal(key, p, shape=sample_shape(shape), dtype=dtype)


@compiled("shape", "dtype")
def _generalized_normal(key: Any, p: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    gamma_key, sign_key = two_keys(key)
    inverse = _one_over(p)
    magnitude = _gamma(gamma_key, inverse, shape=shape, dtype=dtype, log_space=False)
    sign = _rademacher(sign_key, shape=shape, dtype=dtype)
    exponent = broadcast_array(as_dtype(_one_over(p), dtype), shape)
    return lax.mul(sign, lax.pow(magnitude, exponent))


@laid_out
def ball(
    key: ArrayLike,
    d: int,
    p: ArrayLike = 2,
    shape: Shape = (),
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples uniformly distributed points of the unit ball.

    Barthe, Guédon, Mendelson, Naor: A probabilistic approach to the geometry of the lp ball. Ann.
    Probab. 33 (2005).

    Args:
      key: a key.
      d: the dimension of the ball.
      p: the order of the norm that defines the ball.
      shape: the batch shape.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape (*shape, d) and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype.

    Example:
      >>> from olympus_random import ball, key
      >>> ball(key(0), 3, shape=(2,)).shape
      (2, 3)
    """
    key, _ = check_key("ball", key)
    dtype = float_dtype("ball", dtype)
    return _ball(key, p, d=operator.index(d), shape=sample_shape(shape), dtype=dtype)


@compiled("d", "shape", "dtype")
def _ball(key: Any, p: Any, *, d: int, shape: tuple[int, ...], dtype: Any) -> Any:
    normal_key, exponential_key = two_keys(key)
    points = _generalized_normal(normal_key, p, shape=(*shape, d), dtype=dtype)
    extra = _exponential(exponential_key, shape=shape, dtype=dtype)
    power = p if dtypes.issubdtype(get_aval(p).dtype, np.integer) else as_dtype(p, dtype)
    powers = lax.pow(lax.abs(points), power)
    total = lax.add(lax.reduce_sum(powers, (len(shape),)), extra)
    norm = lax.pow(total, as_dtype(_one_over(p), dtype))
    return lax.div(points, lax.broadcast_in_dim(norm, (*shape, 1), tuple(range(len(shape)))))
