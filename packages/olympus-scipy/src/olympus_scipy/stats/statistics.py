# SPDX-License-Identifier: Apache-2.0
"""Statistics of samples: the mode, ranks, the standard error of the mean."""

from __future__ import annotations

import operator
from typing import Any, NamedTuple

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.lax.core.sizes import max_dim
from olympus_ir.programs.tracing import is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_numpy.core.axes import canonical_axis
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.options import is_among
from olympus_numpy.core.promotion import check_arraylike, promote_dtypes_inexact

__all__ = ["ModeResult", "mode", "rankdata", "sem"]

_POLICIES = ("propagate", "omit", "raise")
_METHODS = ("average", "min", "max", "dense", "ordinal")


class ModeResult(NamedTuple):
    """Result of `mode`: the most frequent values and their counts."""

    mode: Array
    count: Array  # type: ignore[assignment]


def _check_policy(nan_policy: str, supported: tuple[str, ...]) -> None:
    if not is_among(nan_policy, _POLICIES):
        raise ValueError(f"Illegal nan_policy value {nan_policy!r}; expected one of {_POLICIES}")
    if nan_policy == "raise":
        raise ValueError("nan_policy 'raise' is not supported: values are not known while tracing")
    if nan_policy not in supported:
        raise NotImplementedError(
            f"Logic for `nan_policy` of {nan_policy} is not implemented; remove NaN before."
        )


def mode(
    a: ArrayLike, axis: int | None = 0, nan_policy: str = "propagate", keepdims: bool = False
) -> ModeResult:
    """Returns the most frequent value along an axis, the smallest if several are equally frequent.

    Args:
      a: an array.
      axis: the axis; None flattens the array.
      nan_policy: must be ``"propagate"``.
      keepdims: whether to keep the axis with size 1.

    Returns:
      A `ModeResult` of values (of the dtype of ``a``) and counts (int32), without ``axis``.

    Raises:
      ValueError: the policy is unknown, or ``"raise"``.
      NotImplementedError: the policy is ``"omit"``.

    Example:
      >>> import olympus_numpy as jnp
      >>> mode(jnp.array([3, 1, 1])).mode
      Array(1, dtype=int32)
    """
    check_arraylike("mode", a)
    _check_policy(nan_policy, ("propagate",))
    return ModeResult(*_mode(onp.atleast_1d(a), axis, keepdims))


@outlined("axis", "keepdims")
def _mode(a: Any, axis: int | None, keepdims: bool) -> Any:
    ndim = a.ndim
    if axis is None:
        a, axis = onp.ravel(a), 0
        kept_shape = (1,) * ndim
    else:
        axis = canonical_axis(axis, ndim)
        kept_shape = tuple(1 if position == axis else size for position, size in enumerate(a.shape))
    a = onp.moveaxis(a, axis, -1)
    if a.shape[-1] == 0:
        values = onp.full(a.shape[:-1], np.nan, dtypes.to_inexact_dtype(a.dtype))
        counts = onp.zeros_like(values)
    else:
        ordered = onp.sort(a, axis=-1)
        lengths = _run_lengths(ordered)
        # The first of the longest runs holds the smallest value.
        end = onp.argmax(lengths, axis=-1, keepdims=True)
        values = onp.take_along_axis(ordered, end, axis=-1)[..., 0]
        counts = onp.take_along_axis(lengths, end, axis=-1)[..., 0]
        counts = counts.astype(dtypes.default_int_dtype())
    if keepdims:
        return onp.reshape(values, kept_shape), onp.reshape(counts, kept_shape)
    return values, counts


def _is_new(ordered: Any) -> Any:
    """Returns whether each element of sorted rows differs from the previous one; NaNs are equal."""
    first = onp.ones((*ordered.shape[:-1], 1), bool)
    later, earlier = ordered[..., 1:], ordered[..., :-1]
    differs = later != earlier
    if dtypes.issubdtype(ordered.dtype, np.inexact):
        differs &= ~(onp.isnan(later) & onp.isnan(earlier))
    return onp.concatenate([first, differs], axis=-1)


def _run_lengths(ordered: Any) -> Any:
    """Counts, for each element of sorted rows, the equal elements up to its position."""
    position = lax.broadcasted_iota(np.dtype(np.int32), ordered.shape, ordered.ndim - 1)
    start = lax.cummax(onp.where(_is_new(ordered), position, 0), ordered.ndim - 1)
    return position - start + 1


def rankdata(
    a: ArrayLike, method: str = "average", *, axis: int | None = None, nan_policy: str = "propagate"
) -> Array:
    """Returns the ranks of elements, from 1.

    Args:
      a: an array.
      method: the rank of equal elements: their ``"average"``, ``"min"`` or ``"max"``; ``"dense"``
        counts distinct elements, and ``"ordinal"`` ranks equal elements in order.
      axis: the axis; None flattens the array.
      nan_policy: must be ``"propagate"``.

    Returns:
      A floating array of the shape of ``a``, or a vector if ``axis`` is None.

    Raises:
      ValueError: the method or the policy is unknown.
      TypeError: the axis is no integer.
      NotImplementedError: the policy is ``"omit"``.

    Example:
      >>> import olympus_numpy as jnp
      >>> rankdata(jnp.array([3, 1, 1]))
      Array([3. , 1.5, 1.5], dtype=float32)
    """
    check_arraylike("rankdata", a)
    _check_policy(nan_policy, ("propagate",))
    if not is_among(method, _METHODS):
        raise ValueError(f"unknown method '{method}'; the methods are {', '.join(_METHODS)}.")
    return _rankdata(onp.asarray(a), method, None if axis is None else operator.index(axis))


@outlined("method", "axis")
def _rankdata(a: Any, method: str, axis: int | None) -> Any:
    if axis is None:
        a, axis = onp.ravel(a), 0
    a = onp.moveaxis(a, axis, -1)
    dtype = dtypes.default_float_dtype()
    order = onp.argsort(a, axis=-1, stable=True)
    ordered = onp.take_along_axis(a, order, axis=-1)
    size, last = a.shape[-1], a.ndim - 1
    position = lax.broadcasted_iota(np.dtype(np.int32), a.shape, last)
    is_new = _is_new(ordered)
    start = lax.cummax(onp.where(is_new, position, 0), last)
    is_end = onp.concatenate([is_new[..., 1:], onp.ones((*a.shape[:-1], 1), bool)], axis=-1)
    is_end = is_end[..., :size]
    end = lax.cummin(onp.where(is_end, position, size), last, reverse=True)
    ranks = {
        "ordinal": lambda: position + 1,
        "min": lambda: start + 1,
        "max": lambda: end + 1,
        "dense": lambda: lax.cumsum(is_new.astype(np.int32), last),
        "average": lambda: (start + end).astype(dtype) * 0.5 + 1.0,
    }[method]()
    result = onp.put_along_axis(
        onp.zeros(a.shape, dtype), order, ranks.astype(dtype), axis=-1, inplace=False
    )
    if dtypes.issubdtype(a.dtype, np.inexact):
        result = onp.where(onp.any(onp.isnan(a), axis=-1, keepdims=True), np.nan, result)
    return onp.moveaxis(result, -1, axis)


def sem(
    a: ArrayLike,
    axis: int | None = 0,
    ddof: int = 1,
    nan_policy: str = "propagate",
    *,
    keepdims: bool = False,
) -> Array:
    """Returns the standard error of the mean.

    It is the standard deviation divided by the square root of the count.

    Args:
      a: an array of numbers.
      axis: the axis; None takes all axes.
      ddof: the number that is subtracted from the count in the divisor of the variance.
      nan_policy: ``"propagate"``, or ``"omit"`` to ignore NaN.
      keepdims: whether to keep the axis with size 1.

    Returns:
      An array of the shape of ``a`` without ``axis``, of its dtype if that is inexact.

    Raises:
      ValueError: the policy is unknown, or ``"raise"``.

    Example:
      >>> import olympus_numpy as jnp
      >>> sem(jnp.array([1.0, 1.0]))
      Array(0., dtype=float32)
    """
    check_arraylike("sem", a)
    _check_policy(nan_policy, ("propagate", "omit"))
    return _sem(onp.asarray(a), axis, ddof, nan_policy == "omit", keepdims)


@outlined("axis", "ddof", "omit", "keepdims")
def _sem(a: Any, axis: int | None, ddof: int, omit: bool, keepdims: bool) -> Any:
    (a,) = promote_dtypes_inexact(a)
    if omit:
        count = onp.sum(~onp.isnan(a), axis=axis, keepdims=keepdims, dtype=onp.real(a).dtype)
        deviation = onp.nanstd(a, axis=axis, ddof=ddof, keepdims=keepdims) / lax.sqrt(count)
        return deviation.astype(a.dtype)
    size = max_dim(a.size if axis is None else a.shape[axis], 1)
    deviation = onp.std(a, axis=axis, ddof=ddof, keepdims=keepdims)
    if is_constant_dim(size):
        return (deviation / np.array(np.sqrt(size), deviation.dtype)).astype(a.dtype)
    return (deviation / lax.sqrt(lax.size_array(size, deviation.dtype))).astype(a.dtype)
