# SPDX-License-Identifier: Apache-2.0
"""Gamma distribution by the method of Marsaglia and Tsang, and its derivative.

Marsaglia, Tsang: A simple method for generating gamma variables. ACM Trans. Math. Software 26
(2000). A sample for a shape parameter below one is a sample for the parameter plus one, times a
power of a uniform sample.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_autodiff.tables import jvp_rules
from olympus_autodiff.zeros import Zero
from olympus_batching import vmap
from olympus_batching.tables import batching_rules, materialize
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.key_rules import consume_operands, key_rules
from olympus_ir.programs.primitives import instruction
from olympus_ir.programs.propagation import Propagation, propagation_rules
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.layouts import entries_of
from olympus_ir.types.resharding import laid_out

from ..generators.threefry import threefry_implementation
from ..keys.arguments import check_key, compiled, float_dtype
from ..keys.primitives import random_split_p
from .continuous import _exponential, _normal
from .parameters import as_dtype, broadcast_parameter, parameters_shape, scalar
from .uniform import _uniform, keys_of, two_keys

__all__ = ["gamma", "loggamma", "random_gamma_p"]

# samples = random_gamma[log_space] keys shapes
# There is one sample for each shape parameter. The dimensions of the keys are the first dimensions
# of the shape parameters.
random_gamma_p = instruction("random_gamma", family="random")


@random_gamma_p.def_abstract_eval
def _random_gamma_type(keys: ShapedArray, a: ShapedArray, *, log_space: bool) -> ShapedArray:
    if not dtypes.issubdtype(keys.dtype, dtypes.prng_key):
        raise TypeError(f"random_gamma requires typed keys, got {keys.str_short()}")
    if not dtypes.issubdtype(a.dtype, np.floating):
        raise TypeError(f"random_gamma requires parameters that are floats, got {a.str_short()}")
    if a.shape[: keys.ndim] != keys.shape:
        raise ShapeError(
            "random_gamma requires the shape of its parameters to begin with that of the keys, got "
            f"keys {keys.str_short()} and parameters {a.str_short()}"
        )
    return ShapedArray(a.shape, a.dtype)


# Samples are sharded as the shape parameters are, since there is one sample for each parameter.
propagation_rules.define(
    random_gamma_p, Propagation(lambda operands, results, **params: entries_of(operands[1]))
)


key_rules.define(random_gamma_p, consume_operands)


@expansion_rules.define(random_gamma_p)
def _random_gamma(keys: Any, a: Any, *, log_space: bool) -> Any:
    if not a.size:
        return lax.full(a.shape, 0, a.dtype)
    count = a.size // keys.size
    keys = random_split_p.bind(lax.reshape(keys, (keys.size,)), shape=(count,))
    one_sample = lambda key, alpha: _sample(key, alpha, log_space)  # noqa: E731
    operands = lax.reshape(keys, (a.size,)), lax.reshape(a, (a.size,))
    if keys.dtype.implementation is threefry_implementation:
        samples = vmap(one_sample)(*operands)
    else:
        # With `rbg` and `unsafe_rbg`, a batch and a loop draw different bits. The CPU runs a loop,
        # so its samples differ from those of other platforms.
        samples = lax.platform_dependent(
            *operands,
            cpu=lambda *operands: lax.map(lambda pair: one_sample(*pair), operands),
            default=vmap(one_sample),
        )
    return lax.reshape(samples, a.shape)


def _sample(key: Any, alpha: Any, log_space: bool) -> Any:
    dtype = alpha.dtype
    one, third = scalar(1, dtype), scalar(1 / 3, dtype)
    is_large = lax.ge(alpha, one)
    boosted = lax.select(is_large, alpha, lax.add(alpha, one))
    d = lax.sub(boosted, third)
    c = lax.div(third, lax.sqrt(d))
    key, boost_key = two_keys(key)
    cube = _accepted_cube(key, c, d)
    if log_space:
        # This is the logarithm of a uniform sample. If it is zero, the correction is zero, too: its
        # product with 1 / alpha would be NaN for zero alpha.
        logarithm = lax.neg(_exponential(boost_key, shape=(), dtype=dtype))
        zero = scalar(0, dtype)
        unboosted = lax.bitwise_or(is_large, lax.eq(logarithm, zero))
        boost = lax.select(unboosted, zero, lax.mul(logarithm, lax.div(one, alpha)))
        return lax.add(lax.add(lax.log(d), lax.log(cube)), boost)
    uniform = lax.sub(one, _uniform(boost_key, 0.0, 1.0, shape=(), dtype=dtype))
    boost = lax.select(is_large, one, lax.pow(uniform, lax.div(one, alpha)))
    return lax.mul(lax.mul(d, cube), boost)


def _accepted_cube(key: Any, c: Any, d: Any) -> Any:
    """Returns the cube of 1 + c x for a normal sample x, which is redrawn until accepted."""
    dtype = d.dtype
    zero, one, half = scalar(0, dtype), scalar(1, dtype), scalar(0.5, dtype)

    def is_rejected(carry: Any) -> Any:
        _, square, cube, uniform = carry
        squeeze = lax.sub(one, lax.mul(scalar(0.0331, dtype), lax.mul(square, square)))
        bound = lax.add(
            lax.mul(square, half), lax.mul(d, lax.add(lax.sub(one, cube), lax.log(cube)))
        )
        return lax.bitwise_and(lax.ge(uniform, squeeze), lax.ge(lax.log(uniform), bound))

    def propose(carry: Any) -> Any:
        key, normal_key, uniform_key = keys_of(carry[0], 3)

        def draw(carry: Any) -> Any:
            key, own_key = two_keys(carry[0])
            x = _normal(own_key, shape=(), dtype=dtype)
            return key, x, lax.add(one, lax.mul(x, c))

        _, x, v = lax.while_loop(
            lambda carry: lax.le(carry[2], zero), draw, (normal_key, zero, scalar(-1, dtype))
        )
        uniform = _uniform(uniform_key, 0.0, 1.0, shape=(), dtype=dtype)
        return key, lax.mul(x, x), lax.mul(lax.mul(v, v), v), uniform

    first = (key, zero, one, scalar(2, dtype))
    return lax.while_loop(is_rejected, propose, first)[2]


@batching_rules.define(random_gamma_p)
def _random_gamma_batching(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    operands = [materialize(arg, axis_size, dim) for arg, dim in zip(args, batch_dims, strict=True)]
    return random_gamma_p.bind(*operands, **params), 0


@jvp_rules.define(random_gamma_p)
def _random_gamma_jvp(primals: Any, tangents: Any, *, log_space: bool) -> Any:
    """Differentiates samples for a fixed uniform sample, by implicit differentiation."""
    keys, a = primals
    samples = random_gamma_p.bind(keys, a, log_space=log_space)
    t = tangents[1]
    if t.__class__ is Zero:
        return samples, Zero.of(samples)
    if not log_space:
        return samples, lax.mul(t, lax.random_gamma_grad(a, samples))
    values = lax.exp(samples)
    smallest = lax.full_like(values, dtypes.finfo(values.dtype).tiny)
    values = lax.select(lax.eq(values, scalar(0, values.dtype)), smallest, values)
    return samples, lax.mul(t, lax.div(lax.random_gamma_grad(a, values), values))


# ---- samplers ----


@compiled("shape", "dtype", "log_space")
def _gamma(key: Any, a: Any, *, shape: tuple[int, ...], dtype: Any, log_space: bool) -> Any:
    a = broadcast_parameter(as_dtype(a, dtype), shape)
    return random_gamma_p.bind(key, a, log_space=log_space)


@laid_out
def gamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the gamma distribution with scale one.

    Samples are differentiable with respect to ``a``.

    Args:
      key: a key.
      a: the shape parameters, a scalar or an array.
      shape: the shape of the result, to which ``a`` broadcasts; by default the shape of ``a``.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype or the shapes do not fit.

    See Also:
      loggamma: the logarithms of samples, which stay exact if the samples underflow.

    Example:
      >>> from olympus_random import gamma, key
      >>> gamma(key(0), 2.0, (3,)).shape
      (3,)
    """
    key, _ = check_key("gamma", key)
    dtype = float_dtype("gamma", dtype)
    shape = parameters_shape("gamma", shape, a)
    return _gamma(key, a, shape=shape, dtype=dtype, log_space=False)


@laid_out
def loggamma(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples logarithms of gamma-distributed numbers with scale one.

    Args:
      key: a key.
      a: the shape parameters, a scalar or an array.
      shape: the shape of the result, to which ``a`` broadcasts; by default the shape of ``a``.
      dtype: a float dtype; the default float dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      ValueError: ``dtype`` is not a float dtype or the shapes do not fit.

    Example:
      >>> from olympus_random import key, loggamma
      >>> loggamma(key(0), 2.0, (3,)).shape
      (3,)
    """
    key, _ = check_key("loggamma", key)
    dtype = float_dtype("gamma", dtype)
    shape = parameters_shape("gamma", shape, a)
    return _gamma(key, a, shape=shape, dtype=dtype, log_space=True)
