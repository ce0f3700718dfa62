# SPDX-License-Identifier: Apache-2.0
"""Functions along axes: softmax and its relatives, standardization, one-hot vectors."""

from __future__ import annotations

import functools
import operator
from collections.abc import Sequence
from typing import Any, SupportsIndex

import numpy as np

import olympus_numpy as onp
from olympus_autodiff import custom_jvp
from olympus_ir import lax
from olympus_ir.diagnostics.user_warnings import warn_user
from olympus_ir.lax.core.axes import integer_or_dim
from olympus_ir.programs.jit import jit
from olympus_ir.programs.tracing import concrete_or_error
from olympus_ir.settings import config
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.compilation import inlined
from olympus_numpy.core.promotion import check_arraylike, convert, ensure_array
from olympus_numpy.numerics.log_sums import logsumexp, reduced_axes

from .activations import default_float

__all__ = [
    "log_softmax",
    "logmeanexp",
    "logsumexp",
    "one_hot",
    "softmax",
    "standardize",
]


# ---- sums of exponentials ----


@functools.partial(jit, static_argnames=("axis", "keepdims"))
def logmeanexp(
    x: ArrayLike,
    axis: int | Sequence[int] | None = None,
    where: ArrayLike | None = None,
    keepdims: bool = False,
) -> Array:
    """Computes ``log(mean(exp(x)))`` without overflow of the exponentials.

    Args:
      x: an array.
      axis: the axis or axes along which the mean is taken; all if None.
      where: a boolean mask of the elements to include; all if None.
      keepdims: whether these axes stay, with size 1.

    Returns:
      An array of the shape of ``x`` without the axes, or with axes of size one.

    Example:
      >>> float(logmeanexp(np.array([1000.0, 1000.0], np.float32)))
      1000.0
    """
    logarithm = logsumexp(x, axis=axis, where=where, keepdims=keepdims)
    axes = reduced_axes(axis, np.ndim(x))
    if where is None:
        count = np.prod([np.shape(x)[axis] for axis in axes])
        return onp.subtract(logarithm, lax.log(np.asarray(count, logarithm.dtype)))
    taking_part = convert(onp.broadcast_to(where, np.shape(x)), dtypes.default_int_dtype())
    count = onp.sum(taking_part, axis=axes, dtype=logarithm.dtype, keepdims=keepdims)
    return onp.subtract(logarithm, onp.log(count))


# ---- softmax ----


def softmax(x: ArrayLike, axis: int | Sequence[int] = -1, where: ArrayLike | None = None) -> Array:
    """Exponentials divided by their sum: positive numbers that add up to one.

    Args:
      x: an array.
      axis: the axis or axes along which the sum is one.
      where: a boolean mask of the elements to include, all if None. The result is 0 at all other
        elements.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> softmax(np.array([0.0, 0.0], np.float32)).tolist()
      [0.5, 0.5]
    """
    check_arraylike("softmax", x)
    if axis.__class__ is not int and axis is not None and axis.__class__ is not str:
        axis = operator.index(axis) if isinstance(axis, SupportsIndex) else tuple(axis)
    if config.softmax_custom_jvp.value:
        return _softmax_by_value(x, where, axis)
    return _softmax(x, where, axis)


@inlined("axis")
def _softmax(x: Any, where: Any, axis: Any) -> Any:
    exponentials = onp.exp(_shifted(x, where, axis))
    total = onp.sum(exponentials, axis=axis, where=where, keepdims=True)
    quotient = onp.divide(exponentials, total)
    return quotient if where is None else onp.where(where, quotient, 0)


def _shifted(x: Any, where: Any, axis: Any) -> Any:
    """Returns ``x`` minus its maximum, and -inf at masked elements."""
    dtype = ensure_array(x).dtype
    is_integer = dtypes.issubdtype(dtype, np.integer)
    lowest = int(dtypes.iinfo(dtypes.canonicalize_dtype(dtype)).min) if is_integer else -np.inf
    largest = onp.max(x, axis=axis, where=where, initial=lowest, keepdims=True)
    x = x if where is None else onp.where(where, x, -np.inf)
    return onp.subtract(x, lax.stop_gradient(largest))


@functools.partial(custom_jvp, nondiff_argnums=(2,))
def _softmax_by_value(x: Any, where: Any, axis: Any) -> Any:
    """Computes `softmax`, with a derivative rule that uses its value."""
    return _softmax(x, where, axis)


@_softmax_by_value.defjvp
def _softmax_by_value_jvp(axis: Any, primals: Any, tangents: Any) -> Any:
    (x, where), (tangent, _) = primals, tangents
    y = _softmax_by_value(x, where, axis)
    mean = onp.sum(onp.multiply(y, tangent), axis=axis, where=where, keepdims=True)
    return y, onp.multiply(y, onp.subtract(tangent, mean))


@functools.partial(jit, static_argnames=("axis",))
def log_softmax(
    x: ArrayLike, axis: int | Sequence[int] = -1, where: ArrayLike | None = None
) -> Array:
    """The logarithm of `softmax`. The result is precise even if `softmax` is nearly zero.

    Args:
      x: an array.
      axis: the axis or axes along which the exponentials of the result sum to one.
      where: a boolean mask of the elements to include, all if None. The result is -inf at all other
        elements.

    Returns:
      An array of the shape of ``x``.

    Example:
      >>> log_softmax(np.array([0.0, 200.0], np.float32)).tolist()
      [-200.0, 0.0]
    """
    check_arraylike("log_softmax", x)
    shifted = _shifted(x, where, axis)
    total = onp.sum(onp.exp(shifted), axis=axis, where=where, keepdims=True)
    logarithms = onp.subtract(shifted, onp.log(total))
    return logarithms if where is None else onp.where(where, logarithms, -np.inf)


# ---- standardization ----


@functools.partial(jit, static_argnames=("axis", "algorithm"))
def standardize(
    x: ArrayLike,
    axis: int | Sequence[int] = -1,
    mean: ArrayLike | None = None,
    variance: ArrayLike | None = None,
    epsilon: ArrayLike = 1e-5,
    where: ArrayLike | None = None,
    *,
    algorithm: str = "fast",
) -> Array:
    """Shifts and scales ``x`` to mean zero and variance one.

    Args:
      x: an array.
      axis: the axis or axes along which mean and variance are taken.
      mean: the mean; by default, the mean of ``x``.
      variance: the variance; by default, the variance of ``x``.
      epsilon: a small number added to the variance.
      where: the elements of which mean and variance are taken; all if None.
      algorithm: ``"fast"`` computes the variance in one pass, as the mean of squares minus the
        square of the mean. ``"stable"`` computes it in two passes, as the mean of squared
        deviations.

    Returns:
      An array of the shape of ``x``.

    Raises:
      ValueError: ``algorithm`` is unknown.

    Example:
      >>> standardize(np.array([1.0, 3.0], np.float32), epsilon=0.0).tolist()
      [-1.0, 1.0]
    """
    check_arraylike("standardize", x)
    if algorithm not in ("fast", "stable"):
        raise ValueError(f"Unknown algorithm {algorithm!r}. Expected 'fast' or 'stable'.")
    if mean is None:
        mean = onp.mean(x, axis=axis, keepdims=True, where=where)
    if variance is None:
        if algorithm == "fast":
            mean_square = onp.mean(onp.square(x), axis=axis, keepdims=True, where=where)
            # Rounding errors may make the difference negative.
            variance = onp.clip(onp.subtract(mean_square, onp.square(mean)), 0)
        else:
            deviations = onp.square(onp.subtract(x, mean))
            variance = onp.mean(deviations, axis=axis, keepdims=True, where=where)
    deviation = onp.subtract(x, mean)
    return onp.multiply(deviation, lax.rsqrt(onp.add(variance, epsilon)))


# ---- one-hot codes ----


def one_hot(
    x: ArrayLike,
    num_classes: int,
    *,
    dtype: DTypeLike | None = None,
    axis: int | Sequence[int] = -1,
) -> Array:
    """Encodes each class index as a vector with 1 at this index and 0 elsewhere.

    Args:
      x: an array of class indices. An index out of range becomes a vector of zeros.
      num_classes: the length of the vectors.
      dtype: the dtype of the result; by default the default floating dtype.
      axis: the position of the new axis, or the name of a mapped axis of size ``num_classes`` along
        which the vectors lie.

    Returns:
      An array of the shape of ``x`` with one more dimension.

    Example:
      >>> one_hot(np.array([2, 0]), 3).tolist()
      [[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]]
    """
    x = onp.asarray(x)
    if not onp.issubdtype(x.dtype, onp.integer):
        warn_user(
            f"olympus.nn.one_hot input should be integer-typed; got dtype={x.dtype}. Convert the "
            "numbers of classes with astype(int).",
            DeprecationWarning,
        )
    num_classes = concrete_or_error(
        None, num_classes, "The error arose in olympus.nn.one_hot argument `num_classes`."
    )
    num_classes = (
        num_classes
        if type(num_classes) is int
        else integer_or_dim(num_classes, "one_hot: num_classes")
    )
    return _one_hot(x, num_classes=num_classes, dtype=default_float(dtype, "one_hot"), axis=axis)


@functools.partial(jit, static_argnames=("num_classes", "dtype", "axis"))
def _one_hot(x: Any, *, num_classes: int, dtype: Any, axis: Any) -> Any:
    x = ensure_array(x)
    if isinstance(axis, str):
        size = lax.axis_size(axis)
        if size != num_classes:
            raise ValueError(
                f"one_hot along the mapped axis {axis!r} needs num_classes to be its size: "
                f"expected num_classes={size}, got {num_classes}."
            )
        classes = convert(lax.axis_index(axis), x.dtype)
        return convert(onp.equal(x, classes), dtype)
    ndim = x.ndim + 1
    position = operator.index(axis)
    if not -ndim <= position < ndim:
        raise ValueError(f"one_hot: axis {axis} is out of bounds for a result of rank {ndim}.")
    position %= ndim
    shape = [1] * ndim
    shape[position] = num_classes
    x = onp.expand_dims(x, position)
    classes = lax.broadcasted_iota(x.dtype, tuple(shape), position)
    return convert(onp.equal(x, classes), dtype)
