# SPDX-License-Identifier: Apache-2.0
"""Permutations, and draws from a collection with and without replacement."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.axes import canonical_axis
from olympus_ir.programs.tracing import concrete_or_error, is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_ir.types.resharding import laid_out

from ..keys.arguments import check_key, compiled, sample_shape
from ..keys.primitives import random_bits_p
from .continuous import _gumbel, gumbel_mode
from .uniform import _randint, _uniform, two_keys

__all__ = ["choice", "permutation"]


def check_arraylike(name: str, value: Any, position: int = 0) -> Any:
    """Checks that a parameter is an array or a scalar.

    Raises:
      TypeError: the parameter is neither.
    """
    if not isinstance(value, (Array, np.ndarray, np.generic, bool, int, float, complex)):
        raise TypeError(
            f"{name} requires ndarray or scalar arguments, got {type(value)} at position "
            f"{position}. Convert it with olympus.numpy.asarray."
        )
    return value


# ---- permutations ----


@laid_out
def permutation(
    key: ArrayLike,
    x: ArrayLike,
    axis: int = 0,
    independent: bool = False,
    *,
    out_sharding: ShardingLike = None,
) -> Array:
    """Permutes elements at random.

    Args:
      key: a key.
      x: an array; or an integer n, for the numbers from 0 to n - 1.
      axis: the axis to permute.
      independent: whether to permute each vector along ``axis`` independently.
      out_sharding: the sharding of the result over the current mesh.

    Returns:
      An array of the shape and the dtype of ``x``; for an integer, an integer vector of length
      ``x``.

    Raises:
      TypeError: ``x`` is neither an array nor an integer.
      ValueError: ``axis`` is out of range.

    Example:
      >>> from olympus_random import key, permutation
      >>> permutation(key(0), 5)
      Array([0, 1, 4, 3, 2], dtype=int32)
    """
    key, _ = check_key("permutation", key)
    check_arraylike("permutation", x)
    axis = canonical_axis(axis, np.ndim(x) or 1)
    if np.ndim(x) == 0:
        if not dtypes.issubdtype(dtypes.dtype(x), np.integer):
            raise TypeError("x must be an integer or at least 1-dimensional")
        count = concrete_or_error(int, x, "argument x of random.permutation()")
        return _order(key, count=max(count, 0), dtype=dtypes.default_int_dtype())
    return _permutation(key, x, axis=axis, independent=bool(independent))


@compiled("count", "dtype")
def _order(key: Any, *, count: int, dtype: Any) -> Any:
    return _shuffle(key, lax.iota(dtype, count), axis=0)


@compiled("axis", "independent")
def _permutation(key: Any, x: Any, *, axis: int, independent: bool) -> Any:
    if independent or x.ndim == 1:
        return _shuffle(key, x, axis=axis)
    order = _shuffle(key, lax.iota(np.int32, x.shape[axis]), axis=0)
    return take(x, order, axis, unique=True)


@compiled("axis")
def _shuffle(key: Any, x: Any, *, axis: int) -> Any:
    # Sorting by random words is not quite uniform, because words may be equal. For many elements,
    # the sort is therefore repeated. Three times the bits that are needed to number all
    # permutations make the effect of equal words negligible
    # (https://github.com/jax-ml/jax/pull/1119).
    exponent = 3
    size = math.prod(x.shape)
    if not is_constant_dim(size):
        raise NotImplementedError(
            "shape polymorphism for `permutation` or `shuffle` is not implemented: how often it "
            f"sorts depends on the number of elements, which must be known, got {size}"
        )
    rounds = math.ceil(exponent * math.log(max(1, size)) / math.log(np.iinfo(np.uint32).max))
    for _ in range(rounds):
        key, word_key = two_keys(key)
        words = random_bits_p.bind(word_key, bit_width=32, shape=x.shape)
        _, x = lax.sort((words, x), dimension=axis, num_keys=1)
    return x


def take(array: Any, indices: Any, axis: int, unique: bool = False) -> Any:
    """Returns the slices of an array at indices along an axis; the indices are in range."""
    window = tuple(1 if dim == axis else size for dim, size in enumerate(array.shape))
    ndim = np.ndim(indices)
    kept = tuple(dim if dim < axis else dim + ndim - 1 for dim in range(array.ndim) if dim != axis)
    return lax.gather(
        array,
        lax.expand_dims(indices, (ndim,)),
        lax.GatherDimensionNumbers(
            offset_dims=kept, collapsed_slice_dims=(axis,), start_index_map=(axis,)
        ),
        window,
        unique_indices=unique,
        mode=lax.GatherScatterMode.PROMISE_IN_BOUNDS,
    )


# ---- draws ----


def choice(
    key: ArrayLike,
    a: ArrayLike,
    shape: Shape = (),
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    mode: str | None = None,
) -> Array:
    """Draws elements of an array, or of a range of integers.

    Args:
      key: a key.
      a: an array, whose slices along ``axis`` are drawn; or an integer n, for the numbers from 0 to
        n - 1.
      shape: the shape of the draws. In the result, this shape replaces ``axis``.
      replace: whether an element may be drawn repeatedly.
      p: the probabilities, a vector; equal if None.
      axis: the axis of ``a``.
      mode: the mode of `gumbel`, for draws with probabilities and without replacement.

    Returns:
      An array of the dtype of ``a``, whose shape is that of ``a`` with ``axis`` replaced by
      ``shape``.

    Raises:
      TypeError: ``a`` or ``p`` is not an array, or ``shape`` is not a sequence.
      ValueError: ``p`` does not fit ``a``, or more elements are drawn without replacement than
        there are.

    Example:
      >>> from olympus_random import choice, key
      >>> choice(key(0), 5, (3,), replace=False)
      Array([0, 1, 4], dtype=int32)
    """
    key, _ = check_key("choice", key)
    if not hasattr(shape, "__iter__") or isinstance(shape, dict | set | str | bytes):
        raise TypeError(f"shape argument of random.choice must be a sequence, got {shape}")
    shape = sample_shape(tuple(shape))
    check_arraylike("choice", a)
    if p is not None:
        check_arraylike("choice", p)
    is_range = np.ndim(a) == 0
    if is_range:
        population: int = concrete_or_error(int, a, "The error occurred in random.choice()")
        axis = 0
    else:
        axis = canonical_axis(axis, np.ndim(a))
        population = np.shape(a)[axis]
    draws = math.prod(shape)
    if draws and population <= 0:
        raise ValueError("a must be greater than 0 unless no samples are taken")
    if not replace and draws > population:
        raise ValueError(
            f"Cannot take a larger sample (size {draws}) than population (size {population}) when "
            "'replace=False'"
        )
    if p is not None and np.shape(p) != (population,):
        raise ValueError(
            "p must be None or a 1D vector with the same size as a.shape[axis]. p has shape "
            f"{np.shape(p)} and a.shape[axis] is {population}."
        )
    if not draws:
        return _no_draws(None if is_range else a, shape, axis)
    parts = {"population": population, "shape": shape}
    if p is None:
        if replace:
            indices = _equally_likely(key, **parts)
        else:
            indices = _some_in_random_order(key, **parts)
    elif replace:
        indices = _by_probability(key, p, shape=shape)
    else:
        indices = _by_probability_once(key, p, shape=shape, mode=gumbel_mode(mode))
    return indices if is_range else _taken(a, indices, axis)


def _no_draws(a: Any, shape: tuple[int, ...], axis: int) -> Any:
    if a is None:
        return lax.full(shape, 0, dtypes.default_int_dtype())
    size = np.shape(a)
    return lax.full((*size[:axis], *shape, *size[axis + 1 :]), 0, get_aval(a).dtype)


def _taken(a: Any, indices: Any, axis: int) -> Any:
    return take(a, indices, axis)


@compiled("population", "shape")
def _equally_likely(key: Any, *, population: int, shape: tuple[int, ...]) -> Any:
    return _randint(key, 0, population, shape=shape, dtype=dtypes.default_int_dtype())


@compiled("population", "shape")
def _some_in_random_order(key: Any, *, population: int, shape: tuple[int, ...]) -> Any:
    order = _shuffle(key, lax.iota(dtypes.default_int_dtype(), population), axis=0)
    return lax.reshape(lax.slice(order, (0,), (math.prod(shape),)), shape)


def _floating(p: Any) -> Any:
    return lax.convert_element_type(p, dtypes.to_inexact_dtype(get_aval(p).dtype))


@compiled("shape")
def _by_probability(key: Any, p: Any, *, shape: tuple[int, ...]) -> Any:
    cumulative = lax.cumsum(_floating(p), 0)
    total = lax.index_in_dim(cumulative, -1, 0, keepdims=False)
    u = _uniform(key, 0.0, 1.0, shape=shape, dtype=cumulative.dtype)
    thresholds = lax.mul(total, lax.sub(np.ones((), u.dtype), u))
    return first_not_below(cumulative, thresholds)


def first_not_below(ascending: Any, values: Any) -> Any:
    """Returns, for each value, the index of the first element that is not below the value.

    The vector of the elements is ascending.
    """
    size = ascending.shape[0]
    shape = values.shape

    def halve(_: Any, ends: tuple[Any, Any]) -> tuple[Any, Any]:
        low, high = ends
        middle = lax.add(low, lax.div(lax.sub(high, low), np.uint32(2)))
        is_left = lax.le(values, take(ascending, middle, 0))
        return lax.select(is_left, low, middle), lax.select(is_left, middle, high)

    ends = lax.full(shape, 0, np.uint32), lax.full(shape, size, np.uint32)
    _, high = lax.fori_loop(0, math.ceil(math.log2(size + 1)), halve, ends)
    return lax.convert_element_type(high, dtypes.default_int_dtype())


@compiled("shape", "mode")
def _by_probability_once(key: Any, p: Any, *, shape: tuple[int, ...], mode: str) -> Any:
    # The indices of the largest sums of a log-probability and Gumbel noise are a draw without
    # replacement: Vieira, "Gumbel-max trick".
    p = _floating(p)
    noise = _gumbel(key, shape=p.shape, dtype=p.dtype, mode=mode)
    _, indices = lax.top_k(lax.add(noise, lax.log(p)), math.prod(shape))
    indices = lax.convert_element_type(indices, dtypes.default_int_dtype())
    return lax.reshape(indices, shape)
