# SPDX-License-Identifier: Apache-2.0
"""Gamma distribution by the method of Marsaglia and Tsang, and its derivative.

Marsaglia, Tsang: A simple method for generating gamma variables. ACM Trans. Math. Software 26
(2000). A sample for a shape parameter below one is a sample for the parameter plus one, times a
power of a uniform sample.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from olympus_autodiff.tables import jvp_rules
from olympus_autodiff.zeros import Zero
from olympus_batching import vmap
from olympus_batching.tables import batching_rules, materialize
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.programs.expansion import cpu_expansion_rules, expansion_rules
from olympus_ir.programs.key_rules import consume_operands, key_rules
from olympus_ir.programs.primitives import instruction
from olympus_ir.programs.propagation import Propagation, propagation_rules
from olympus_ir.programs.tracing import is_constant_dim
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
from .shuffling import take
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
    key, boost_key, c, d = _prepared(key, alpha)
    return _boosted(boost_key, alpha, d, _accepted_cube(key, c, d), log_space)


def _prepared(key: Any, alpha: Any) -> tuple[Any, Any, Any, Any]:
    """Returns a key for proposals, a key for the correction, and the constants of proposals."""
    dtype = alpha.dtype
    one, third = scalar(1, dtype), scalar(1 / 3, dtype)
    boosted = lax.select(lax.ge(alpha, one), alpha, lax.add(alpha, one))
    d = lax.sub(boosted, third)
    c = lax.div(third, lax.sqrt(d))
    key, boost_key = two_keys(key)
    return key, boost_key, c, d


def _boosted(boost_key: Any, alpha: Any, d: Any, cube: Any, log_space: bool) -> Any:
    """Returns the sample for an accepted cube, corrected for a parameter below one."""
    dtype = alpha.dtype
    one = scalar(1, dtype)
    is_large = lax.ge(alpha, one)
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
    zero, one = scalar(0, dtype), scalar(1, dtype)

    def propose(state: Any) -> Any:
        key, normal_key, uniform_key = keys_of(state[0], 3)
        _, x, v = lax.while_loop(
            lambda carry: lax.le(carry[2], zero),
            lambda carry: _draw(carry[0], c),
            (normal_key, zero, scalar(-1, dtype)),
        )
        uniform = _uniform(uniform_key, 0.0, 1.0, shape=(), dtype=dtype)
        return key, lax.mul(x, x), lax.mul(lax.mul(v, v), v), uniform

    first = (key, zero, one, scalar(2, dtype))
    return lax.while_loop(
        lambda carry: _is_rejected(carry[1], carry[2], carry[3], d), propose, first
    )[2]


def _draw(key: Any, c: Any) -> tuple[Any, Any, Any]:
    """Returns a new key, a normal sample x, and 1 + c x."""
    key, own_key = two_keys(key)
    x = _normal(own_key, shape=(), dtype=c.dtype)
    return key, x, lax.add(scalar(1, c.dtype), lax.mul(x, c))


def _is_rejected(square: Any, cube: Any, uniform: Any, d: Any) -> Any:
    dtype = d.dtype
    one, half = scalar(1, dtype), scalar(0.5, dtype)
    squeeze = lax.sub(one, lax.mul(scalar(0.0331, dtype), lax.mul(square, square)))
    bound = lax.add(lax.mul(square, half), lax.mul(d, lax.add(lax.sub(one, cube), lax.log(cube))))
    return lax.bitwise_and(lax.ge(uniform, squeeze), lax.ge(lax.log(uniform), bound))


# ---- many samples on one CPU ----

# With fewer samples, what a call saves, 1.6 ms or less, does not pay for the compilation, which
# takes 1.9 instead of 1.0 s.
_SMALLEST_BATCH = 1 << 14

# At most a twentieth of the first proposals is rejected, so one batch mostly holds all of them.
_BATCHES = 16


@cpu_expansion_rules.define(random_gamma_p)
def _many_random_gamma(keys: Any, a: Any, *, log_space: bool) -> Any:
    """Samples from one proposal for each sample, and repeats the few that are rejected.

    The loop of `_accepted_cube` repeats all samples until the last one is accepted: six times for
    100,000 samples, in 13 ms. A proposal for each of them and a loop over batches of the rejected
    ones take 3 ms. Each sample uses the same keys and operations in the same order, so that its
    bits are the same. The operation "random gamma" of the benchmarks covers this function.
    """
    is_many = is_constant_dim(a.size) and a.size >= _SMALLEST_BATCH
    if not is_many or keys.dtype.implementation is not threefry_implementation:
        return _random_gamma(keys, a, log_space=log_space)
    keys = random_split_p.bind(lax.reshape(keys, (keys.size,)), shape=(a.size // keys.size,))
    alpha = lax.reshape(a, (a.size,))
    keys, boost_keys, c, d = vmap(_prepared)(lax.reshape(keys, (a.size,)), alpha)
    # Without the barrier, XLA would fold constant parameters into other roundings.
    c, d = lax.optimization_barrier((c, d))
    cubes = _accepted_cubes(keys, c, d)
    samples = vmap(functools.partial(_boosted, log_space=log_space))(boost_keys, alpha, d, cubes)
    return lax.reshape(samples, a.shape)


def _accepted_cubes(keys: Any, c: Any, d: Any) -> Any:
    """Returns the results of `_accepted_cube` for vectors of operands."""
    cubes, is_rejected = vmap(_first_proposal)(keys, c, d)
    size = c.shape[0]
    batch = size // _BATCHES
    places, count = _places_of(is_rejected, size + batch)

    def repeat(carry: Any) -> Any:
        start, cubes = carry
        here = lax.dynamic_slice(places, (start,), (batch,))
        some = (take(x, lax.min(here, np.int32(size - 1)), 0) for x in (keys, c, d))
        accepted = vmap(_accepted_cube)(*some)
        return lax.add(start, np.int32(batch)), _put(cubes, here, accepted)

    return lax.while_loop(lambda carry: lax.lt(carry[0], count), repeat, (np.int32(0), cubes))[1]


def _first_proposal(key: Any, c: Any, d: Any) -> tuple[Any, Any]:
    """Returns the cube of the first proposal, and whether `_accepted_cube` goes on."""
    _, normal_key, uniform_key = keys_of(key, 3)
    _, x, v = _draw(normal_key, c)
    uniform = _uniform(uniform_key, 0.0, 1.0, shape=(), dtype=d.dtype)
    cube = lax.mul(lax.mul(v, v), v)
    is_rejected = _is_rejected(lax.mul(x, x), cube, uniform, d)
    return cube, lax.bitwise_or(is_rejected, lax.le(v, scalar(0, d.dtype)))


def _places_of(chosen: Any, size: int) -> tuple[Any, Any]:
    """Returns the positions of the chosen elements, and their number.

    The vector of positions has ``size`` elements. Those that are not used are out of range.
    """
    length = chosen.shape[0]
    ranks = lax.cumsum(lax.convert_element_type(chosen, np.int32))
    positions = lax.select(chosen, lax.sub(ranks, np.int32(1)), lax.full((length,), np.int32(size)))
    unused = lax.full((size,), np.int32(length))
    places = _put(unused, positions, lax.iota(np.int32, length))
    return places, lax.index_in_dim(ranks, -1, 0, keepdims=False)


def _put(vector: Any, positions: Any, values: Any) -> Any:
    """Sets elements of a vector; drops the values whose positions are out of range."""
    return lax.scatter(
        vector,
        lax.expand_dims(positions, (1,)),
        values,
        lax.ScatterDimensionNumbers((), (0,), (0,)),
        mode=lax.GatherScatterMode.FILL_OR_DROP,
    )


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
