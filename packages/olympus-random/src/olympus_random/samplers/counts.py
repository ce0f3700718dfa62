# SPDX-License-Identifier: Apache-2.0
"""Distributions of counts: Poisson, binomial and multinomial.

Samples with small means add up waiting times. Samples with large means use transformed rejection.
Hörmann: The transformed rejection method for generating Poisson random variables. Insurance Math.
Econom. 12 (1993). Hörmann: The generation of binomial random variates. J. Stat. Comput. Simul. 46
(1993).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.tracing import current, evaluation_trace
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.promotion import result_type
from olympus_ir.types.resharding import laid_out

from ..generators.threefry import threefry_implementation
from ..keys.arguments import check_key, compiled, float_dtype, sample_shape
from ..keys.primitives import random_clone_p, random_split_p
from .parameters import as_dtype, broadcast_parameter, scalar
from .shuffling import check_arraylike
from .uniform import _uniform, keys_of, two_keys

__all__ = ["binomial", "multinomial", "poisson"]

_MOST_ITERATIONS = np.int32(2**31 - 1)


def _any(flags: Any) -> Any:
    return lax.reduce_or(flags, tuple(range(np.ndim(flags))))


# ---- Poisson ----


@laid_out
def poisson(
    key: ArrayLike,
    lam: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Samples the Poisson distribution.

    Args:
      key: a key of the ``threefry2x32`` generator.
      lam: the means, a scalar or an array.
      shape: the shape of the result, to which ``lam`` broadcasts; by default the shape of ``lam``.
      dtype: an integer dtype; the default integer dtype if not given.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      The samples, an array of shape ``shape`` and dtype ``dtype``.

    Raises:
      NotImplementedError: the key belongs to another generator.
      ValueError: ``dtype`` is not an integer dtype, or the shapes do not fit.

    Example:
      >>> from olympus_random import key, poisson
      >>> poisson(key(0), 4.0, (3,)).shape
      (3,)
    """
    typed_key, _ = check_key("poisson", key)
    implementation = typed_key.dtype.implementation
    if implementation is not threefry_implementation:
        raise NotImplementedError(
            "`poisson` is only implemented for the threefry2x32 RNG, not "
            f"{implementation.name}: its loops run a different number of times for each sample"
        )
    if dtype is None:
        dtype = dtypes.default_int_dtype()
    else:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "poisson")
        if not dtypes.issubdtype(dtype, np.integer):
            raise ValueError(
                f"dtype argument to `poisson` must be an integer dtype, got {dtypes.name_of(dtype)}"
            )
    check_arraylike("poisson", lam)
    shape = np.shape(lam) if shape is None else sample_shape(shape)
    lam = as_dtype(broadcast_parameter(lam, shape), np.float32)
    return _poisson(typed_key, lam, shape=shape, dtype=dtype)


@compiled("shape", "dtype")
def _poisson(key: Any, lam: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    zero = scalar(0, lam.dtype)
    use_waiting_times = lax.bitwise_or(lax.ne(lam, lam), lax.lt(lam, scalar(10, lam.dtype)))
    # Each method computes all elements. Elements that the other method samples get a mean that is
    # fast to sample. Each element uses the key once, so that the second method takes a clone.
    small = lax.select(use_waiting_times, lam, lax.full_like(lam, 0))
    large = lax.select(use_waiting_times, lax.full_like(lam, 1e5), lam)
    drawn = lax.select(
        use_waiting_times,
        _poisson_knuth(key, small, shape=shape, dtype=dtype),
        _poisson_rejection(random_clone_p.bind(key), large, shape=shape, dtype=dtype),
    )
    return lax.select(lax.eq(lam, zero), lax.full(shape, 0, dtype), drawn)


@compiled("shape", "dtype")
def _poisson_knuth(key: Any, lam: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Counts the waiting times that fit in one unit of time."""

    def is_open(carry: Any) -> Any:
        iteration, _, _, logarithm = carry
        return lax.bitwise_and(
            _any(lax.gt(logarithm, lax.neg(lam))), lax.lt(iteration, _MOST_ITERATIONS)
        )

    def wait(carry: Any) -> Any:
        iteration, count, key, logarithm = carry
        key, own_key = two_keys(key)
        goes_on = lax.gt(logarithm, lax.neg(lam))
        count = lax.select(goes_on, lax.add(count, scalar(1, count.dtype)), count)
        u = _uniform(own_key, 0.0, 1.0, shape=shape, dtype=np.dtype(np.float32))
        return lax.add(iteration, np.int32(1)), count, key, lax.add(logarithm, lax.log(u))

    first = (np.int32(0), lax.full(shape, 0, dtype), key, lax.full(shape, 0, np.float32))
    count = lax.while_loop(is_open, wait, first)[1]
    return lax.sub(count, scalar(1, dtype))


@compiled("shape", "dtype")
def _poisson_rejection(key: Any, lam: Any, *, shape: tuple[int, ...], dtype: Any) -> Any:
    """Samples by Hörmann's method PTRS."""
    number = lambda value: scalar(value, lam.dtype)  # noqa: E731
    log_lam = lax.log(lam)
    b = lax.add(number(0.931), lax.mul(number(2.53), lax.sqrt(lam)))
    a = lax.add(number(-0.059), lax.mul(number(0.02483), b))
    inverse_alpha = lax.add(number(1.1239), lax.div(number(1.1328), lax.sub(b, number(3.4))))
    v_r = lax.sub(number(0.9277), lax.div(number(3.6224), lax.sub(b, number(2))))

    def is_open(carry: Any) -> Any:
        iteration, _, accepted, _ = carry
        return lax.bitwise_and(_any(lax.bitwise_not(accepted)), lax.lt(iteration, _MOST_ITERATIONS))

    def propose(carry: Any) -> Any:
        iteration, chosen, accepted, key = carry
        key, u_key, v_key = keys_of(key, 3)
        half = number(0.5)
        u = lax.sub(_uniform(u_key, 0.0, 1.0, shape=shape, dtype=lam.dtype), half)
        v = _uniform(v_key, 0.0, 1.0, shape=shape, dtype=lam.dtype)
        u_shifted = lax.sub(half, lax.abs(u))
        k = lax.floor(
            lax.add(
                lax.add(lax.mul(lax.add(lax.div(lax.mul(number(2), a), u_shifted), b), u), lam),
                number(0.43),
            )
        )
        left = lax.log(
            lax.div(
                lax.mul(v, inverse_alpha),
                lax.add(lax.div(a, lax.mul(u_shifted, u_shifted)), b),
            )
        )
        right = lax.sub(
            lax.add(lax.neg(lam), lax.mul(k, log_lam)), lax.lgamma(lax.add(k, number(1)))
        )
        at_once = lax.bitwise_and(lax.ge(u_shifted, number(0.07)), lax.le(v, v_r))
        refused = lax.bitwise_or(
            lax.lt(k, number(0)),
            lax.bitwise_and(lax.lt(u_shifted, number(0.013)), lax.gt(v, u_shifted)),
        )
        accept = lax.bitwise_or(
            at_once, lax.bitwise_and(lax.bitwise_not(refused), lax.le(left, right))
        )
        chosen = lax.select(accept, k, chosen)
        accepted = lax.bitwise_or(accepted, accept)
        return lax.add(iteration, np.int32(1)), chosen, accepted, key

    first = (np.int32(0), lax.full_like(lam, -1), lax.full(shape, False), key)
    return as_dtype(lax.while_loop(is_open, propose, first)[1], dtype)


# ---- binomial ----


def binomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Samples the binomial distribution.

    Args:
      key: a key.
      n: the numbers of trials, a scalar or an array.
      p: the probabilities of success, a scalar or an array.
      shape: the shape of the result, to which the parameters broadcast; by default, their common
        shape.
      dtype: a float dtype; the default float dtype if not given.

    Returns:
      Floating samples with integral values, of shape ``shape``; NaN where a parameter is out of
      range.

    Raises:
      ValueError: ``dtype`` is not a float dtype or the shapes do not fit.

    Example:
      >>> from olympus_random import binomial, key
      >>> binomial(key(0), 10.0, 0.5, (3,)).shape
      (3,)
    """
    key, _ = check_key("binomial", key)
    check_arraylike("binomial", n)
    check_arraylike("binomial", p, 1)
    dtype = float_dtype("binomial", dtype)
    shapes = [np.shape(n), np.shape(p)]
    if shape is None:
        shape = lax.broadcast_shapes(*shapes)
    else:
        shape = sample_shape(shape)
        if lax.broadcast_shapes(shape, *shapes) != shape:
            raise ValueError(
                f"binomial requires the shapes of its parameters, {shapes[0]} and {shapes[1]}, to "
                f"broadcast to shape={shape}"
            )
    # Trials are counted in the dtype of the probabilities, whatever the dtype of the result.
    p_dtype: Any = dtypes.to_inexact_dtype(get_aval(p).dtype)
    samples = sample_binomial(
        key,
        broadcast_parameter(as_dtype(n, p_dtype), shape),
        broadcast_parameter(as_dtype(p, p_dtype), shape),
    )
    return as_dtype(samples, dtype)


def sample_binomial(key: Any, n: Any, p: Any) -> Any:
    """Samples the binomial distribution for parameters of the same shape and dtype."""
    dtype = get_aval(n).dtype
    number = lambda value: scalar(value, dtype)  # noqa: E731
    zero, one, half = number(0), number(1), number(0.5)
    # The rarer outcome is counted, success or failure.
    is_below_half = lax.lt(p, half)
    q = lax.select(is_below_half, p, lax.sub(one, p))
    n_is_invalid = lax.bitwise_or(lax.ne(n, n), lax.lt(n, zero))
    n_is_infinite = lax.eq(lax.abs(n), number(np.inf))
    q_is_nan, q_is_negative = lax.ne(q, q), lax.lt(q, zero)
    q = lax.select(lax.bitwise_or(q_is_nan, q_is_negative), lax.full_like(q, 0.01), q)
    use_inversion = lax.bitwise_or(n_is_invalid, lax.le(lax.mul(n, q), number(10)))
    trials = lax.floor(n)
    # Each method computes all elements. Elements that the other method samples get parameters that
    # are fast to sample.
    by_inversion = _binomial_inversion(
        key, lax.select(use_inversion, trials, lax.full_like(trials, 0)), q
    )
    by_rejection = _binomial_rejection(
        key,
        lax.select(use_inversion, lax.full_like(trials, 1e4), trials),
        lax.select(use_inversion, lax.full_like(q, 0.5), q),
    )
    samples = lax.select(use_inversion, by_inversion, by_rejection)
    invalid = lax.bitwise_or(lax.bitwise_or(q_is_negative, q_is_nan), n_is_invalid)
    samples = lax.select(invalid, lax.full_like(samples, np.nan), samples)
    unbounded = lax.bitwise_and(n_is_infinite, lax.bitwise_not(invalid))
    samples = lax.select(unbounded, lax.full_like(samples, np.inf), samples)
    as_it_is = lax.bitwise_or(
        lax.bitwise_or(lax.bitwise_or(is_below_half, n_is_invalid), q_is_nan), n_is_infinite
    )
    return lax.select(as_it_is, samples, lax.sub(trials, samples))


def _below_most(iteration: Any, dtype: Any) -> Any:
    most = dtypes.finfo(dtype).max
    return lax.lt(as_dtype(iteration, dtype), scalar(most, dtype))


def _now_or_inline(loop: Any, key: Any, *operands: Any, **options: Any) -> Any:
    """Calls a loop as a compiled function if nothing is being traced, else inlines the loop."""
    if current.trace is evaluation_trace:
        return loop(key, *operands, **options)
    return loop.fun(key, *operands, **options)


def _binomial_inversion(key: Any, n: Any, p: Any) -> Any:
    """Samples by adding up the numbers of trials up to each next success."""
    successes = _now_or_inline(_inversion_loop, key, n, lax.log1p(lax.neg(p)))
    return lax.sub(successes, scalar(1, get_aval(n).dtype))


@compiled()
def _inversion_loop(key: Any, n: Any, log_of_failure: Any) -> Any:
    aval: Any = get_aval(n)
    dtype, shape = aval.dtype, aval.shape
    one = scalar(1, dtype)

    def is_open(carry: Any) -> Any:
        iteration, _, total, _ = carry
        return lax.bitwise_and(_any(lax.le(total, n)), _below_most(iteration, dtype))

    def next_success(carry: Any) -> Any:
        iteration, successes, total, key = carry
        own_key, key = two_keys(key)
        successes = lax.select(lax.le(total, n), lax.add(successes, one), successes)
        u = _uniform(own_key, 0.0, 1.0, shape=shape, dtype=dtype)
        trials = lax.ceil(lax.div(lax.log(u), log_of_failure))
        return lax.add(iteration, np.int32(1)), successes, lax.add(total, trials), key

    zeros = lax.full(shape, 0, dtype)
    return lax.while_loop(is_open, next_success, (np.int32(0), zeros, zeros, key))[1]


# The differences between the logarithms of the factorials of 0 to 9 and Stirling's formula.
_STIRLING_DIFFERENCES = (
    0.0810614667953272,
    0.0413406959554092,
    0.0276779256849983,
    0.0207906721037650,
    0.0166446911898211,
    0.0138761288230707,
    0.0118967099458917,
    0.0104112652619720,
    0.00925546218271273,
    0.00833056343336287,
)


def _stirling_difference(k: Any, table: Any) -> Any:
    dtype = get_aval(k).dtype
    number = lambda value: scalar(value, dtype)  # noqa: E731
    in_table = lax.le(k, number(9))
    k = lax.clamp(number(0), k, number(9))
    next_one = lax.add(k, number(1))
    square = lax.mul(next_one, next_one)
    series = lax.sub(number(1 / 360), lax.div(number(1 / 1260), square))
    formula = lax.div(lax.sub(number(1 / 12), lax.div(series, square)), next_one)
    index = as_dtype(lax.floor(k), np.int32)
    return lax.select(in_table, _taken(table, index), formula)


def _taken(table: Any, index: Any) -> Any:
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    positions = lax.expand_dims(index, (np.ndim(index),))
    return lax.gather(table, positions, numbers, (1,), mode="promise_in_bounds")


def _binomial_rejection(key: Any, n: Any, p: Any) -> Any:
    """Samples by Hörmann's method BTRS."""
    dtype = get_aval(n).dtype
    number = lambda value: scalar(value, dtype)  # noqa: E731
    one = number(1)
    deviation = lax.sqrt(lax.mul(lax.mul(n, p), lax.sub(one, p)))
    b = lax.add(number(1.15), lax.mul(number(2.53), deviation))
    a = lax.add(lax.add(number(-0.0873), lax.mul(number(0.0248), b)), lax.mul(number(0.01), p))
    c = lax.add(lax.mul(n, p), number(0.5))
    v_r = lax.sub(number(0.92), lax.div(number(4.2), b))
    odds = lax.div(p, lax.sub(one, p))
    alpha = lax.mul(lax.add(number(2.83), lax.div(number(5.1), b)), deviation)
    mode = lax.floor(lax.mul(lax.add(n, one), p))
    return _now_or_inline(_rejection_loop, key, n, a, b, c, v_r, odds, alpha, mode)


@compiled()
def _rejection_loop(
    key: Any, n: Any, a: Any, b: Any, c: Any, v_r: Any, odds: Any, alpha: Any, mode: Any
) -> Any:
    aval: Any = get_aval(n)
    dtype, shape = aval.dtype, aval.shape
    number = lambda value: scalar(value, dtype)  # noqa: E731
    half = number(0.5)

    def is_open(carry: Any) -> Any:
        iteration, _, accepted, _ = carry
        return lax.bitwise_and(_any(lax.bitwise_not(accepted)), _below_most(iteration, dtype))

    def propose(carry: Any) -> Any:
        iteration, chosen, accepted, key = carry
        key, u_key, v_key = keys_of(key, 3)
        u = _uniform(u_key, 0.0, 1.0, shape=shape, dtype=dtype)
        v = _uniform(v_key, 0.0, 1.0, shape=shape, dtype=dtype)
        u = lax.sub(u, half)
        u_shifted = lax.sub(half, lax.abs(u))
        at_once = lax.bitwise_and(lax.ge(u_shifted, number(0.07)), lax.le(v, v_r))
        slope = lax.add(lax.div(lax.mul(number(2), a), u_shifted), b)
        k = lax.floor(lax.add(lax.mul(slope, u), c))
        refused = lax.bitwise_or(lax.lt(k, number(0)), lax.gt(k, n))
        v = lax.log(
            lax.div(lax.mul(v, alpha), lax.add(lax.div(a, lax.mul(u_shifted, u_shifted)), b))
        )
        likely = lax.bitwise_and(lax.bitwise_not(refused), lax.le(v, _log_ratio(k, n, odds, mode)))
        accept = lax.bitwise_or(at_once, likely)
        chosen = lax.select(accept, k, chosen)
        accepted = lax.bitwise_or(accepted, accept)
        return lax.add(iteration, np.int32(1)), chosen, accepted, key

    first = (np.int32(0), lax.full(shape, -1, dtype), lax.full(shape, False), key)
    return lax.while_loop(is_open, propose, first)[1]


def _log_ratio(k: Any, n: Any, odds: Any, mode: Any) -> Any:
    """Returns the logarithm of the ratio of the probabilities of ``k`` and of the mode."""
    dtype = get_aval(n).dtype
    one, half = scalar(1, dtype), scalar(0.5, dtype)
    table = np.asarray(_STIRLING_DIFFERENCES, dtype)

    def remaining(count: Any) -> Any:
        return lax.add(lax.sub(n, count), one)

    first = lax.mul(
        lax.add(mode, half),
        lax.log(lax.div(lax.add(mode, one), lax.mul(odds, remaining(mode)))),
    )
    second = lax.mul(lax.add(n, one), lax.log(lax.div(remaining(mode), remaining(k))))
    third = lax.mul(
        lax.add(k, half), lax.log(lax.div(lax.mul(odds, remaining(k)), lax.add(k, one)))
    )
    total = lax.add(lax.add(first, second), third)
    total = lax.add(total, _stirling_difference(mode, table))
    total = lax.add(total, _stirling_difference(lax.sub(n, mode), table))
    total = lax.sub(total, _stirling_difference(k, table))
    return lax.sub(total, _stirling_difference(lax.sub(n, k), table))


# ---- multinomial ----


def multinomial(
    key: ArrayLike,
    n: ArrayLike,
    p: ArrayLike,
    *,
    shape: Shape | None = None,
    dtype: DTypeLike | None = None,
    unroll: int | bool = 1,
) -> Array:
    """Samples the multinomial distribution: the counts of outcomes.

    Args:
      key: a key.
      n: the numbers of trials, a scalar or an array of shape (...).
      p: the probabilities of the outcomes, of shape (..., k).
      shape: the shape of the result; that of the parameters if not given. ``p`` broadcasts to this
        shape, and ``n`` to this shape without the last axis.
      dtype: the dtype of the result; the default float dtype if not given.
      unroll: the number of outcomes that one step of the compiled loop draws.

    Returns:
      Integral values of shape ``shape``, with sums ``n`` along the last axis.

    Raises:
      ValueError: the shapes do not fit.

    Example:
      >>> import numpy as np
      >>> from olympus_random import key, multinomial
      >>> multinomial(key(0), 10.0, np.array([0.5, 0.5], np.float32)).sum()
      Array(10., dtype=float32)
    """
    key, _ = check_key("multinomial", key)
    check_arraylike("multinomial", n)
    check_arraylike("multinomial", p, 1)
    result_dtype = (
        dtypes.default_float_dtype()
        if dtype is None
        else dtypes.check_and_canonicalize_user_dtype(dtype, "multinomial")
    )
    if not np.ndim(p):
        raise ValueError(
            "multinomial: axis -1 is out of bounds for array of dimension 0; p holds the "
            "probabilities of outcomes along its last axis"
        )
    dtype = dtypes.to_inexact_dtype(result_type(n, p))
    n, p = as_dtype(n, dtype), as_dtype(p, dtype)
    if shape is None:
        shape = (*lax.broadcast_shapes(np.shape(n), np.shape(p)[:-1]), np.shape(p)[-1])
    else:
        shape = sample_shape(shape)
        if lax.broadcast_shapes(shape, np.shape(p)) != shape or not shape:
            raise ValueError(
                f"multinomial requires p, of shape {np.shape(p)}, to broadcast to shape={shape}"
            )
    n, p = broadcast_parameter(n, shape[:-1]), broadcast_parameter(p, shape)
    outcomes = len(shape) - 1
    rows = lax.transpose(p, (outcomes, *range(outcomes)))  # [outcome, ...]
    remaining = lax.cumsum(rows, 0, reverse=True)
    remaining = lax.select(
        lax.eq(remaining, scalar(0, dtype)), lax.full_like(remaining, 1), remaining
    )
    ratios = lax.div(rows, remaining)
    keys = random_split_p.bind(key, shape=(shape[-1],))

    counts = _now_or_inline(_draw_outcomes, keys, n, ratios, unroll=unroll)
    return as_dtype(lax.transpose(counts, (*range(1, len(shape)), 0)), result_dtype)


@compiled("unroll")
def _draw_outcomes(keys: Any, n: Any, ratios: Any, *, unroll: int | bool) -> Any:
    """Draws the count of each outcome in turn from the remaining trials."""
    dtype = get_aval(n).dtype

    def draw(left: Any, ratio_and_key: Any) -> Any:
        ratio, own_key = ratio_and_key
        ratio = lax.min(scalar(1, dtype), lax.max(scalar(0, dtype), ratio))
        count = sample_binomial(own_key, left, ratio)
        return lax.sub(left, count), count

    return lax.scan(draw, n, (ratios, keys), unroll=unroll)[1]
