# SPDX-License-Identifier: Apache-2.0
"""Counting in bins, covariances and correlations."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.diagnostics.errors import ShapeError, ShardingTypeError
from olympus_ir.loading import deferred
from olympus_ir.programs.tracing import concrete_or_error, is_constant_dim
from olympus_ir.programs.wide_constants import allowed_dtype
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.resharding import asked_sharding, with_out_sharding

from ..arrays.creation import asarray
from ..arrays.joining import concatenate
from ..arrays.selection import clip, where
from ..arrays.shaping import atleast_2d, ravel
from ..core.compilation import compiled, outlined
from ..core.promotion import (
    check_arraylike,
    convert,
    ensure_array,
    of_promotable_dtype,
    promote_dtypes_inexact,
    result_type_of,
)
from ..elementwise.arithmetic import absolute, true_divide
from ..ordering.searching import searchsorted
from ..products.contractions import dot
from ..reductions.extremes import largest, ptp, smallest
from ..reductions.moments import average
from .ranges import linspace

if TYPE_CHECKING:
    from . import index_tricks
else:
    index_tricks = deferred(".index_tricks", milliseconds=0.5)

__all__ = [
    "bincount",
    "corrcoef",
    "cov",
    "histogram",
    "histogram2d",
    "histogram_bin_edges",
    "histogramdd",
]


# ---- counting ----


def bincount(
    x: ArrayLike,
    weights: ArrayLike | None = None,
    minlength: int = 0,
    *,
    length: int | None = None,
    out_sharding: ShardingLike = None,
) -> Array:
    """Counts how often each non-negative integer occurs in a vector.

    Args:
      x: a vector of integers; a negative integer is counted as a zero.
      weights: the weight of each element.
      minlength: the least length of the result.
      length: the length of the result; larger integers are left out. If it is given, the integers
        may be traced.
      out_sharding: the sharding of the result.

    Returns:
      An array of one dimension, of an integer dtype or of the dtype of the weights.

    Raises:
      TypeError: if ``x`` is not of integers.
      ValueError: if ``x`` does not have one dimension, or ``weights`` and ``x`` differ in shape.
      ShardingTypeError: if ``out_sharding`` divides the result.
      ConcretizationTypeError: if ``x`` is traced and ``length`` is not given.

    Example:
      >>> from olympus_numpy import array
      >>> bincount(array([0, 1, 1, 3]))
      Array([1, 2, 0, 1], dtype=int32)
    """
    check_arraylike("bincount", x)
    x = ensure_array(x)
    if x.dtype == np.bool_:
        x = convert(x, dtypes.default_int_dtype())
    if not dtypes.issubdtype(x.dtype, np.integer):
        raise TypeError(f"x argument to bincount must have an integer type; got {x.dtype}")
    if x.ndim != 1:
        raise ValueError("only 1-dimensional input supported.")
    minlength = concrete_or_error(
        operator.index, minlength, "The error occurred because of argument 'minlength' of bincount."
    )
    if length is None:
        known = concrete_or_error(
            np.asarray,
            x,
            "The error occurred because of argument 'x' of jnp.bincount. To avoid this error, "
            "pass a static `length` argument.",
        )
        length = max(minlength, int(known.max()) + 1 if known.size else 0)
    else:
        length = concrete_or_error(
            operator.index, length, "The error occurred because of argument 'length' of bincount."
        )
    if weights is None:
        weights = np.ones((), dtypes.default_int_dtype())
    elif np.shape(weights) != x.shape:
        raise ValueError("shape of weights must match shape of x.")
    if out_sharding is None:
        return _bincount(x, weights, length)
    sharding = asked_sharding(out_sharding, "bincount")
    if sharding is not None and any(sharding.spec.partitions):
        raise ShardingTypeError(
            "out_sharding passed to `jnp.bincount` can only be fully replicated or fully unreduced "
            "along all mesh axes, since an element on any device may belong to any bin; got "
            f"{sharding.spec}"
        )
    return with_out_sharding(
        lambda x, weights: _bincount(x, weights, length), (x, weights), out_sharding, "bincount"
    )


def _counted(x: Any, weights: Any, length: int) -> Any:
    weights = ensure_array(weights)
    counts = lax.full((length,), np.zeros((), weights.dtype))
    return counts.at[clip(x, 0)].add(weights, mode="drop")


_bincount = compiled(_counted, ("length",), inline=True, name="bincount")


def histogram_bin_edges(
    a: ArrayLike,
    bins: ArrayLike | str = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
) -> Array:
    """Returns the edges of the bins that `histogram` counts in.

    Args:
      a: an array.
      bins: the number of bins, or their edges.
      range: the lowest and highest edge; the smallest and largest element by default.
      weights: has no effect.

    Returns:
      An array of shape ``(bins + 1,)`` and of a floating dtype.

    Raises:
      NotImplementedError: if ``bins`` is a string.
      ValueError: if ``range`` is not a pair.

    Example:
      >>> from olympus_numpy import array
      >>> histogram_bin_edges(array([0.0, 4.0]), bins=2)
      Array([0., 2., 4.], dtype=float32)
    """
    del weights
    if isinstance(bins, str):
        raise NotImplementedError("string values for `bins` not implemented.")
    check_arraylike("histogram_bin_edges", a, bins)
    a = ravel(a)
    dtype = allowed_dtype(dtypes.to_inexact_dtype(result_type_of(a)[0]))
    if np.ndim(bins):
        if np.ndim(bins) > 1:
            raise ShapeError(
                f"`bins` must be a number or a vector of edges, got an array of shape "
                f"{np.shape(bins)}"
            )
        return asarray(bins, dtype=dtype)
    count = concrete_or_error(operator.index, bins, "bins argument of histogram_bin_edges")
    if range is None and 0 in a.shape:
        range = (0, 1)
    if range is None:
        ends = [smallest(a, None, False), largest(a, None, False)]
        bounds = concatenate([lax.reshape(convert(end, dtype), (1,)) for end in ends])
    else:
        bounds = asarray(range, dtype=dtype)
        if bounds.shape != (2,):
            raise ValueError(f"`range` must be either None or a sequence of scalars, got {range}")
    # If all values are equal, the bins surround that value.
    flat = lax.eq(ptp(bounds), np.zeros((), dtype))
    half = np.array(0.5, dtype)
    low = where(flat, bounds[0] - half, bounds[0])
    high = where(flat, bounds[1] + half, bounds[1])
    return linspace(low, high, count + 1, dtype=dtype)


def _as_edges(*arrays: Any) -> list[Array]:
    """Converts arrays to the common inexact dtype, strongly typed."""
    promoted = promote_dtypes_inexact(*map(of_promotable_dtype, arrays))
    return [convert(array, allowed_dtype(array.dtype)) for array in promoted]


def histogram(
    a: ArrayLike,
    bins: ArrayLike | str = 10,
    range: Sequence[ArrayLike] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array]:
    """Counts the elements in each bin; returns the counts and the edges of the bins.

    A bin contains its left edge and not its right one. The last bin contains both.

    Args:
      a: an array.
      bins: the number of bins, or their edges.
      range: the lowest and highest edge; the smallest and largest element by default.
      weights: the weight of each element.
      density: whether the result is divided so that its integral is 1.

    Returns:
      The counts, of shape ``(bins,)``, and the edges, of shape ``(bins + 1,)``, both of a floating
      dtype.

    Raises:
      ValueError: if the shape of ``weights`` differs from that of ``a``.
      NotImplementedError: if ``bins`` is a string.

    Example:
      >>> from olympus_numpy import array
      >>> histogram(array([1.0, 2.0, 2.0, 3.0]), bins=2)
      (Array([1., 3.], dtype=float32), Array([1., 2., 3.], dtype=float32))
    """
    if weights is None:
        check_arraylike("histogram", a, bins)
        (a,) = _as_edges(a)
        weights = lax.full(np.shape(a), np.ones((), a.dtype))
    else:
        check_arraylike("histogram", a, bins, weights)
        if np.shape(a) != np.shape(weights):
            raise ValueError("weights should have the same shape as a.")
        a, weights = _as_edges(a, weights)
    edges = histogram_bin_edges(a, bins, range, weights)
    if np.ndim(bins) == 0 and _is_large(a, edges):
        positions = _bins_in_even(edges, a)
    else:
        positions = searchsorted(edges, a, side="right")
    last = edges.shape[0] - 1
    positions = where(lax.eq(a, edges[-1]), last, positions)
    counts = lax.full((last + 1,), np.zeros((), weights.dtype)).at[positions].add(weights)[1:]
    if density:
        widths = lax.sub(edges[1:], edges[:-1])
        counts = lax.div(
            lax.div(counts, convert(widths, counts.dtype)),
            lax.broadcast(counts.sum(), counts.shape),
        )
    return counts, edges


# Heuristic: `_bins_in_even` saves time for arrays of this size or larger, and this many edges or
# fewer.
_SMALLEST_SIZE = 4096
_MOST_EDGES = 1 << 20


def _is_large(values: Any, edges: Any) -> bool:
    return (
        all(map(is_constant_dim, values.shape))
        and math.prod(values.shape) >= _SMALLEST_SIZE
        and 3 <= edges.shape[0] <= _MOST_EDGES
        and edges.dtype in (np.float32, np.float64)
    )


@outlined()
def _bins_in_even(edges: Any, values: Any) -> Any:
    """Counts, for each value, the edges that are at most the value; NaN is above all edges.

    Arithmetic guesses the bin of a value, and the edges of this bin correct the guess. Guesses do
    not decrease as values grow. So if the guess for each edge is right or one too low, the guess
    for each value is wrong by at most one bin. Otherwise, for example if edges are too close,
    bisection finds the positions.
    """
    last = edges.shape[0] - 1
    values = lax.stop_gradient(values)
    first = lax.index_in_dim(edges, 0, 0, keepdims=False)
    width = lax.sub(lax.index_in_dim(edges, last, 0, keepdims=False), first)
    scale = lax.div(np.array(last, edges.dtype), width)

    def guessed(x: Any) -> Any:
        whole = lax.floor(lax.mul(lax.sub(x, first), scale))
        return lax.clamp(np.zeros((), x.dtype), whole, np.array(last - 1, x.dtype))

    def corrected() -> Any:
        guess = convert(guessed(values), np.dtype(np.int32))
        left = edges.at[guess].get(mode="clip")
        right = edges.at[lax.add(guess, np.int32(1))].get(mode="clip")
        position = lax.add(guess, convert(lax.ge(values, left), guess.dtype))
        position = lax.add(position, convert(lax.ge(values, right), guess.dtype))
        return where(lax.ne(values, values), np.int32(last + 1), position)

    numbers = lax.iota(edges.dtype, last + 1)
    ahead = lax.sub(numbers, guessed(edges))
    is_near = lax.bitwise_and(
        lax.ge(ahead, np.zeros((), edges.dtype)), lax.le(ahead, np.ones((), edges.dtype))
    )
    is_sorted = lax.le(edges[:-1], edges[1:])
    is_close = lax.bitwise_and(lax.reduce_and(is_near, (0,)), lax.reduce_and(is_sorted, (0,)))
    return lax.cond(is_close, corrected, lambda: searchsorted(edges, values, side="right"))


def histogramdd(
    sample: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Sequence[ArrayLike] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, list[Array]]:
    """Counts the points in each cell of a grid of bins; returns the counts and the edges.

    Args:
      sample: points, an array of shape [points, dimensions].
      bins: the number of bins of every dimension; or a sequence with, for each dimension, the
        number of bins or their edges.
      range: for each dimension, the lowest and highest edge.
      weights: the weight of each point.
      density: whether the result is divided so that its integral is 1.

    Returns:
      The counts, an array with a dimension for each coordinate, and the list of edges.

    Raises:
      ValueError: if ``sample`` does not have two dimensions, or if ``weights``, ``range`` or
        ``bins`` does not fit ``sample``.

    Example:
      >>> from olympus_numpy import array
      >>> histogramdd(array([[0.0, 0.0], [1.0, 1.0]]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    check_arraylike("histogramdd", sample)
    if weights is None:
        (sample,) = _as_edges(sample)
    else:
        check_arraylike("histogramdd", weights)
        sample, weights = _as_edges(sample, weights)
    if sample.ndim != 2 or sample.shape[1] == 0:
        raise ValueError(
            f"histogramdd: sample must be two-dimensional, with columns, got shape {sample.shape}"
        )
    points, dimensions = sample.shape
    if weights is not None and np.shape(weights) != (points,):
        raise ValueError("should have one weight for each sample.")
    if range is not None and (
        len(range) != dimensions or any(pair is not None and len(pair) != 2 for pair in range)
    ):
        raise ValueError(
            f"For sample.shape={sample.shape}, range must be a sequence "
            f"of {dimensions} pairs or Nones; got {range=}"
        )
    of_axes: Any = bins
    if not isinstance(bins, Sequence | np.ndarray | Array) or np.ndim(of_axes) == 0:
        of_axes = [bins] * dimensions
    elif len(of_axes) != dimensions:
        raise ValueError("should be a bin for each dimension.")
    edges, widths, counts, positions = [], [], [], []
    for axis in map(int, np.arange(dimensions)):  # the parameter hides the built-in `range`
        column = sample[:, axis]
        limits = None if range is None else range[axis]
        edge = histogram_bin_edges(column, of_axes[axis], range=limits)
        position = searchsorted(edge, column, side="right")
        position = where(
            lax.eq(column, edge[-1]), lax.sub(position, np.ones((), position.dtype)), position
        )
        positions.append(position)
        edges.append(edge)
        widths.append(lax.sub(edge[1:], edge[:-1]))
        counts.append(edge.shape[0] + 1)
    flat = index_tricks.ravel_multi_index(tuple(positions), tuple(counts), mode="clip")
    total = bincount(flat, weights, length=int(np.prod(counts)))
    total = lax.reshape(total, tuple(counts))[(slice(1, -1),) * dimensions]
    if density:
        total = convert(total, sample.dtype)
        total = true_divide(total, total.sum())
        for axis, width in enumerate(widths):
            total = true_divide(total, lax.broadcast_in_dim(width, total.shape, (axis,)))
    return total, edges


def histogram2d(
    x: ArrayLike,
    y: ArrayLike,
    bins: ArrayLike | Sequence[ArrayLike] = 10,
    range: Sequence[Sequence[ArrayLike] | None] | None = None,
    weights: ArrayLike | None = None,
    density: bool | None = None,
) -> tuple[Array, Array, Array]:
    """Counts the points in each cell of a grid of bins in the plane.

    Args:
      x: the points' first coordinates.
      y: the points' second coordinates.
      bins: the number of bins or the edges, for both dimensions; or a pair with, for each
        dimension, the number of bins or their edges.
      range: for each dimension, the lowest and highest edge.
      weights: the weight of each point.
      density: whether the result is divided so that its integral is 1.

    Returns:
      The counts, an array of two dimensions, and the edges along both.

    Example:
      >>> from olympus_numpy import array
      >>> histogram2d(array([0.0, 1.0]), array([0.0, 1.0]), bins=2)[0]
      Array([[1, 0],
             [0, 1]], dtype=int32)
    """
    check_arraylike("histogram2d", x, y)
    bin_edges: Any = bins
    number = len(bin_edges) if np.ndim(bin_edges) or isinstance(bin_edges, list | tuple) else 1
    if number not in (1, 2):
        bin_edges = [asarray(bin_edges)] * 2
    columns = promote_dtypes_inexact(of_promotable_dtype(x), of_promotable_dtype(y))
    sample = lax.concatenate([lax.expand_dims(column, (1,)) for column in columns], 1)
    counts, (x_edges, y_edges) = histogramdd(sample, bin_edges, range, weights, density)
    return counts, x_edges, y_edges


# ---- covariance ----


def cov(
    m: ArrayLike,
    y: ArrayLike | None = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: int | None = None,
    fweights: ArrayLike | None = None,
    aweights: ArrayLike | None = None,
    dtype: DTypeLike | None = None,
) -> Array:
    """Returns the covariances of variables.

    Args:
      m: observations, with one variable in each row.
      y: further variables.
      rowvar: whether variables are rows, rather than columns.
      bias: whether to divide by the number of observations, rather than by one less.
      ddof: number subtracted from the number of observations in the divisor.
      fweights: the number of times that each observation was made, as integers.
      aweights: the weight of each observation.
      dtype: the dtype of the result.

    Returns:
      An array of shape ``(N, N)`` for ``N`` variables and of a floating or complex dtype; without
      dimensions for one variable.

    Raises:
      ValueError: if ``m`` or ``y`` has more than two dimensions, or ``dtype`` is neither floating
        nor complex.
      RuntimeError: if weights are not a vector with one element for each observation.
      TypeError: if ``fweights`` are not integers.

    Example:
      >>> from olympus_numpy import array
      >>> cov(array([1.0, 2.0, 3.0]))
      Array(1., dtype=float32)
    """
    x = _variables(m, y, rowvar, dtype)
    if ddof is None:
        ddof = 0 if bias else 1
    if x.shape[0] == 0:
        return lax.full((0, 0), np.zeros((), x.dtype))
    weights = _observation_weights(x, fweights, aweights)
    if weights is not None and dtype is not None:
        weights = convert(weights, x.dtype)
    mean, total = average(x, axis=1, weights=weights, returned=True)
    divisor = _degrees_of_freedom(total[0], ddof, weights, aweights)
    x = x - mean[:, None]
    weighted = x if weights is None else x * weights[None, :]
    product = dot(x, weighted.T.conj())
    return (product / convert(divisor, product.dtype)).squeeze()


def _variables(m: Any, y: Any, rowvar: bool, dtype: Any) -> Any:
    """Returns the observations of `cov`, one variable in each row."""
    operands = [m] if y is None else [m, y]
    check_arraylike("cov", *operands)
    operands = promote_dtypes_inexact(*map(ensure_array, operands))
    for name, operand in reversed(list(zip(("m", "y"), operands, strict=False))):
        if operand.ndim > 2:
            raise ValueError(f"{name} has more than 2 dimensions")
    if dtype is not None:
        dtype = dtypes.check_and_canonicalize_user_dtype(dtype, "cov")
        if not dtypes.issubdtype(dtype, np.inexact):
            raise ValueError(f"cov: dtype must be a subclass of float or complex; got {dtype=}")
    x = atleast_2d(operands[0])
    if not rowvar and operands[0].ndim != 1:
        x = x.T
    for operand in operands[1:]:
        further = atleast_2d(operand)
        if not rowvar and further.shape[0] != 1:
            further = further.T
        x = concatenate([x, further], axis=0)
    return x if dtype is None else convert(x, dtype)


def _degrees_of_freedom(total: Any, ddof: Any, weights: Any, aweights: Any) -> Any:
    """Returns the divisor of `cov`; zero if ``ddof`` exceeds the number of observations."""
    if weights is None:
        divisor: Any = lax.sub(total, np.array(ddof, total.dtype))
    elif ddof == 0:
        divisor = total
    elif aweights is None:
        divisor = total - ddof
    else:
        divisor = total - ddof * (weights * asarray(aweights)).sum() / total
    return clip(divisor.real, 0)


def _observation_weights(x: Any, fweights: Any, aweights: Any) -> Any:
    weights = None
    if fweights is not None:
        _check_weights("fweights", fweights, x.shape[1])
        if not dtypes.issubdtype(ensure_array(fweights).dtype, np.integer):
            raise TypeError("fweights must be integer.")
        weights = absolute(ensure_array(fweights))
    if aweights is not None:
        _check_weights("aweights", aweights, x.shape[1])
        analytic = absolute(ensure_array(aweights))
        weights = analytic if weights is None else weights * analytic
    return weights


def _check_weights(name: str, weights: Any, count: int) -> None:
    check_arraylike("cov", weights)
    if np.ndim(weights) > 1:
        raise RuntimeError(f"cannot handle multidimensional {name}")
    if np.shape(weights) != (count,):
        raise RuntimeError(f"incompatible numbers of samples and {name}")


def corrcoef(
    x: ArrayLike, y: ArrayLike | None = None, rowvar: bool = True, dtype: DTypeLike | None = None
) -> Array:
    """Returns the correlations of variables.

    Args:
      x: observations, with one variable in each row.
      y: further variables.
      rowvar: whether variables are rows, rather than columns.
      dtype: the dtype of the result.

    Returns:
      An array of shape ``(N, N)`` for ``N`` variables and of a floating or complex dtype.

    Example:
      >>> from olympus_numpy import array
      >>> corrcoef(array([1.0, 2.0, 3.0]), array([3.0, 2.0, 1.0]))
      Array([[ 1., -1.],
             [-1.,  1.]], dtype=float32)
    """
    check_arraylike("corrcoef", x)
    covariance = cov(x, y, rowvar, dtype=dtype)
    if covariance.ndim == 0:
        # The correlation of a single variable is 1, or NaN if the variance is zero.
        return covariance / covariance
    deviation = convert(lax.sqrt(covariance.diagonal().real), covariance.dtype)
    result = covariance / deviation[:, None] / deviation[None, :]
    if dtypes.issubdtype(result.dtype, np.complexfloating):
        return lax.complex(clip(result.real, -1, 1), clip(result.imag, -1, 1))
    return clip(result, -1, 1)
