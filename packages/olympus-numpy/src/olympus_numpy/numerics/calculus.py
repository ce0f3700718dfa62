# SPDX-License-Identifier: Apache-2.0
"""Differences, gradients, integrals and interpolation of sampled functions."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.joining import concatenate
from ..arrays.selection import clip, where
from ..arrays.shaping import moveaxis, ravel
from ..core.axes import canonical_axes, canonical_axis, hashable_axis
from ..core.compilation import compiled, unless_default
from ..core.promotion import (
    check_arraylike,
    constant,
    convert,
    ensure_array,
    promote_args,
    promote_dtypes,
    promote_dtypes_inexact,
    spread,
)
from ..elementwise.arithmetic import remainder
from ..elementwise.logic import not_equal
from ..ordering.searching import searchsorted

__all__ = ["diff", "ediff1d", "gradient", "interp", "trapezoid", "unwrap"]


def _part(x: Any, start: int | None, stop: int | None, axis: int) -> Any:
    if x.shape[axis] == 0:
        return x  # an empty axis has no first and no last element to leave out
    return lax.slice_in_dim(x, start, stop, axis=axis)


# ---- differences ----


def _differences(a: Any, n: int, axis: int) -> Any:
    a = ensure_array(a)
    for _ in range(min(n, a.shape[axis])):
        after, before = _part(a, 1, None, axis), _part(a, 0, -1, axis)
        a = not_equal(after, before) if a.dtype == np.bool_ else lax.sub(after, before)
    return a


_diff = compiled(_differences, ("n", "axis"), name="diff")


def diff(
    a: ArrayLike,
    n: int = 1,
    axis: int = -1,
    prepend: ArrayLike | None = None,
    append: ArrayLike | None = None,
) -> Array:
    """Returns the differences of adjacent elements; for booleans, whether they differ.

    Args:
      a: an array.
      n: the number of times to take differences.
      axis: the axis.
      prepend: elements to put before ``a``.
      append: elements to put after ``a``.

    Returns:
      An array of the dtype of ``a``. It has ``n`` fewer elements along the axis than ``a`` together
      with the prepended and appended elements.

    Raises:
      ValueError: if ``a`` has no dimensions, or ``n`` is negative.

    Example:
      >>> from olympus_numpy import array
      >>> diff(array([1, 4, 9]))
      Array([3, 5], dtype=int32)
    """
    check_arraylike("diff", a)
    a = ensure_array(a)
    n = operator.index(n)
    if a.ndim == 0:
        raise ValueError("diff requires input that is at least one dimensional")
    if n < 0:
        raise ValueError(f"order must be non-negative but got {n}")
    if n == 0:
        return a
    axis = canonical_axis(hashable_axis("diff", axis), a.ndim)
    parts = [a]
    if prepend is not None:
        parts.insert(0, _edge("prepend", prepend, a, axis))
    if append is not None:
        parts.append(_edge("append", append, a, axis))
    if len(parts) > 1:
        a = concatenate(parts, axis=axis)
    return _diff(a, n, axis)


def _edge(name: str, values: Any, a: Any, axis: int) -> Any:
    check_arraylike("diff", values)
    values = ensure_array(values)
    if values.ndim == 0:
        return spread(values, (*a.shape[:axis], 1, *a.shape[axis + 1 :]))
    if values.ndim != a.ndim:
        raise ValueError(f"diff: `{name}` must be a scalar or have {a.ndim} dimensions")
    return values


def ediff1d(
    ary: ArrayLike, to_end: ArrayLike | None = None, to_begin: ArrayLike | None = None
) -> Array:
    """Returns the differences of adjacent elements of the flat array.

    Args:
      ary: an array.
      to_end: elements to put after the differences.
      to_begin: elements to put before the differences.

    Returns:
      An array of one dimension and of the dtype of ``ary``.

    Example:
      >>> from olympus_numpy import array
      >>> ediff1d(array([1, 4, 9]), to_end=0)
      Array([3, 5, 0], dtype=int32)
    """
    check_arraylike("ediff1d", ary)
    flat = ravel(ary)
    parts = [lax.sub(_part(flat, 1, None, 0), _part(flat, 0, -1, 0)) if flat.size else flat]
    if to_begin is not None:
        parts.insert(0, convert(ravel(to_begin), flat.dtype))
    if to_end is not None:
        parts.append(convert(ravel(to_end), flat.dtype))
    return concatenate(parts)


# ---- gradients ----


def gradient(
    f: ArrayLike,
    *varargs: ArrayLike,
    axis: int | Sequence[int] | None = None,
    edge_order: int | None = None,
) -> Any:
    """Returns the derivatives of a sampled function, by finite differences.

    Args:
      f: the samples.
      *varargs: the spacing of the samples, one for all axes or one for each axis. Each is a scalar
        distance or an array of the samples' positions.
      axis: the axis or axes; all by default.
      edge_order: only None is supported: at the edges, one-sided differences are used.

    Returns:
      An array of the shape of ``f`` and of a floating dtype; a list of these, one for each axis, if
      there are several.

    Raises:
      NotImplementedError: if ``edge_order`` is given.
      ValueError: if ``f`` has less than two elements along an axis.
      TypeError: if there are neither one spacing nor one for each axis.

    Example:
      >>> from olympus_numpy import array
      >>> gradient(array([1.0, 2.0, 4.0]))
      Array([1. , 1.5, 2. ], dtype=float32)
    """
    if edge_order is not None:
        raise NotImplementedError("The 'edge_order' argument to jnp.gradient is not supported.")
    check_arraylike("gradient", f, *varargs)
    f, *spacings = promote_dtypes_inexact(ensure_array(f), *(ensure_array(x) for x in varargs))
    f = ensure_array(f)
    axes = canonical_axes(axis, f.ndim)
    if not axes:
        return []
    if min((f.shape[dim] for dim in axes), default=0) < 2:
        raise ValueError(
            "Shape of array too small to calculate a numerical gradient, at least 2 elements are "
            "required."
        )
    if len(spacings) == 0:
        spacings = [None] * len(axes)
    elif len(spacings) == 1:
        spacings = spacings * len(axes)
    elif len(spacings) != len(axes):
        raise TypeError(
            f"Invalid number of spacing arguments {len(spacings)} for axis={axis}: one for all "
            "axes or one for each are expected"
        )
    results = [_gradient(f, spacing, dim) for dim, spacing in zip(axes, spacings, strict=True)]
    return results[0] if len(results) == 1 else results


def _derivative(f: Any, spacing: Any, axis: int) -> Any:
    size = f.shape[axis]
    if spacing is None:
        spacing = constant(1.0, f)
    if np.ndim(spacing) == 0:
        distance = spacing if hasattr(spacing, "dtype") else ensure_array(spacing)
        return _evenly_spaced(f, spread(distance, (1,) * f.ndim), axis)
    if spacing.ndim != 1 or spacing.shape[0] != size:
        raise ValueError(
            "Spacing arrays must be 1D and match the axis length; got shape "
            f"{spacing.shape} for an axis of size {size}"
        )
    distances = lax.sub(_part(spacing, 1, None, 0), _part(spacing, 0, -1, 0))
    shape = [1] * f.ndim
    shape[axis] = size - 1
    distances = lax.reshape(distances, tuple(shape))
    slopes = lax.div(lax.sub(_part(f, 1, None, axis), _part(f, 0, -1, axis)), distances)
    if size == 2:
        return lax.concatenate([slopes, slopes], axis)
    # At interior points, the derivative is the mean of the slopes on both sides. The weight of each
    # slope is the distance on the other side.
    left, right = _part(distances, 0, -1, axis), _part(distances, 1, None, axis)
    total = lax.add(left, right)
    inside = lax.div(
        lax.add(
            lax.mul(_part(slopes, 0, -1, axis), right), lax.mul(_part(slopes, 1, None, axis), left)
        ),
        total,
    )
    return lax.concatenate([_part(slopes, 0, 1, axis), inside, _part(slopes, -1, None, axis)], axis)


def _evenly_spaced(f: Any, distance: Any, axis: int) -> Any:
    inside = lax.sub(_part(f, 2, None, axis), _part(f, 0, -2, axis))
    inside = lax.div(inside, lax.mul(distance, lax.full_like(distance, 2)))
    first = lax.div(lax.sub(_part(f, 1, 2, axis), _part(f, 0, 1, axis)), distance)
    last = lax.div(lax.sub(_part(f, -1, None, axis), _part(f, -2, -1, axis)), distance)
    return lax.concatenate([first, inside, last], axis)


_gradient = compiled(_derivative, ("axis",), inline=True, name="gradient")


# ---- integrals ----


def _area(y: Any, x: Any, dx: Any, axis: int) -> Any:
    if x is None:
        (y,) = promote_dtypes_inexact(ensure_array(y))
        y = moveaxis(ensure_array(y), axis, -1)
        widths = convert(1.0 if dx is None else dx, y.dtype)
        if np.ndim(widths) == 0 and type(y.shape[-1]) is int and y.shape[-1] > 1:
            return lax.mul(*promote_args("trapezoid", widths, _sum_of_heights(y)))
    else:
        y, x = promote_dtypes_inexact(ensure_array(y), ensure_array(x))
        y = moveaxis(ensure_array(y), axis, -1)
        if x.ndim == 1:
            widths = lax.sub(_part(x, 1, None, 0), _part(x, 0, -1, 0))
            widths = spread(widths, (1,) * (y.ndim - 1) + widths.shape)
        else:
            x = moveaxis(x, axis - y.ndim, -1)  # y and x may differ in rank
            last = x.ndim - 1
            widths = lax.sub(_part(x, 1, None, last), _part(x, 0, -1, last))
    last = y.ndim - 1
    heights = lax.add(_part(y, 1, None, last), _part(y, 0, -1, last))
    half = np.array(0.5, y.dtype)
    areas = lax.mul(*promote_args("trapezoid", widths, heights))
    return lax.mul(half, lax.reduce_sum(areas, (areas.ndim - 1,)))


def _sum_of_heights(y: Any) -> Any:
    """Returns the sum of the mean heights of neighbors along the last dimension.

    It is the sum of all heights without half of the first and of the last one, which reads each
    height once.
    """
    last, half = y.ndim - 1, np.array(0.5, y.dtype)
    ends = lax.add(*(lax.mul(half, lax.index_in_dim(y, end, last, False)) for end in (0, -1)))
    # If an end is infinite, so is the sum, and a subtraction would make it NaN.
    is_finite = lax.eq(lax.sub(ends, ends), lax.full_like(ends, 0))
    ends = lax.select(is_finite, ends, lax.full_like(ends, 0))
    return lax.sub(lax.reduce_sum(y, (last,)), ends)


_trapezoid = compiled(_area, ("axis",), inline=True, name="trapezoid")


def trapezoid(
    y: ArrayLike, x: ArrayLike | None = None, dx: ArrayLike = 1.0, axis: int = -1
) -> Array:
    """Returns the integral of a sampled function along an axis, by the trapezoidal rule.

    Args:
      y: the samples.
      x: the positions of the samples.
      dx: the distance of the samples, if their positions are not given.
      axis: the axis.

    Returns:
      An array of a floating dtype without the axis.

    Raises:
      ValueError: if ``y`` has no dimensions.

    Example:
      >>> from olympus_numpy import array
      >>> trapezoid(array([1.0, 2.0, 3.0]))
      Array(4., dtype=float32)
    """
    check_arraylike("trapezoid", y, *(() if x is None else (x,)))
    if np.ndim(y) == 0:
        raise ValueError("trapezoid requires y of at least one dimension")
    dx = unless_default(dx, 1.0)
    return _trapezoid(y, x, dx, canonical_axis(hashable_axis("trapezoid", axis), np.ndim(y)))


# ---- angles ----


def _continued(p: Any, discont: Any, axis: int, period: Any) -> Any:
    period = 2 * np.pi if period is None else period
    p = ensure_array(p)
    integral = p.dtype == np.bool_ or dtypes.issubdtype(p.dtype, np.integer)
    if not integral:
        p, period = promote_dtypes_inexact(p, ensure_array(period))
    else:
        p, period = promote_dtypes(p, ensure_array(period))
    p = ensure_array(p)
    period = ensure_array(period)
    steps = lax.sub(_part(p, 1, None, axis), _part(p, 0, -1, axis))
    half = period // 2 if dtypes.issubdtype(p.dtype, np.integer) else period / 2
    shortened = remainder(steps + half, period) - half
    # A step of exactly half a period keeps its sign.
    at_end = lax.bitwise_and(shortened == -half, steps > 0)
    shortened = where(at_end, half, shortened)
    limit = half if discont is None else discont
    correction = where(abs(steps) < limit, 0, shortened - steps)
    corrected = _part(p, 1, None, axis) + lax.cumsum(convert(correction, p.dtype), axis)
    return lax.concatenate([_part(p, 0, 1, axis), convert(corrected, p.dtype)], axis)


_unwrap = compiled(_continued, ("axis",), name="unwrap")


def unwrap(
    p: ArrayLike,
    discont: ArrayLike | None = None,
    axis: int = -1,
    period: ArrayLike | None = 2 * np.pi,
) -> Array:
    """Adds multiples of a period to numbers so that adjacent numbers are close.

    Args:
      p: angles, or other real numbers that are defined up to multiples of a period.
      discont: the smallest difference of adjacent numbers to remove; half a period by default.
      axis: the axis.
      period: the period.

    Returns:
      An array with the shape of ``p`` and the common dtype of ``p`` and ``period``.

    Raises:
      ValueError: if ``p`` is complex.

    Example:
      >>> from olympus_numpy import array
      >>> unwrap(array([0, 3, 6, 1]), period=8)
      Array([0, 3, 6, 9], dtype=int32)
    """
    check_arraylike("unwrap", p)
    if dtypes.issubdtype(ensure_array(p).dtype, np.complexfloating):
        raise ValueError("jnp.unwrap does not support complex inputs.")
    axis = canonical_axis(hashable_axis("unwrap", axis), np.ndim(p))
    if np.shape(p)[axis] == 0:
        whole = 2 * np.pi if period is None else period
        return promote_dtypes(ensure_array(p), ensure_array(whole))[0]
    period = unless_default(period, 2 * np.pi)
    return _unwrap(p, discont, axis, period)


# ---- interpolation ----


def _interpolated(
    x: Any, xp: Any, fp: Any, left: Any, right: Any, period: Any, extrapolate: tuple[bool, bool]
) -> Any:
    x, xp = promote_dtypes_inexact(ensure_array(x), ensure_array(xp))
    x, xp = ensure_array(x), ensure_array(xp)
    (fp,) = promote_dtypes_inexact(ensure_array(fp))
    fp = ensure_array(fp)
    if dtypes.issubdtype(x.dtype, np.complexfloating):
        raise ValueError("jnp.interp: complex x values not supported.")
    if period is not None:
        period = convert(lax.abs(ensure_array(period)), x.dtype)
        x, xp = remainder(x, period), remainder(xp, period)
        xp, fp = lax.sort((xp, fp), num_keys=1)
        xp = concatenate([xp[-1:] - period, xp, xp[:1] + period])
        fp = concatenate([fp[-1:], fp, fp[:1]])
    count = xp.shape[0]
    positions = clip(searchsorted(xp, x, side="right"), 1, count - 1)
    x0, x1 = xp[positions - 1], xp[positions]
    f0, f1 = fp[positions - 1], fp[positions]
    width = x1 - x0
    tiny = np.array(np.spacing(dtypes.finfo(xp.dtype).eps), xp.dtype)
    empty = abs(width) <= tiny
    safe = where(empty, 1, width)
    f = where(empty, f0, f0 + (x - x0) / safe * (f1 - f0))
    if not extrapolate[0] and period is None:
        f = where(x < xp[0], fp[0] if left is None else left, f)
    if not extrapolate[1] and period is None:
        f = where(x > xp[-1], fp[-1] if right is None else right, f)
    return f


_interp = compiled(_interpolated, ("extrapolate",), name="_interp")


def interp(
    x: ArrayLike,
    xp: ArrayLike,
    fp: ArrayLike,
    left: ArrayLike | str | None = None,
    right: ArrayLike | str | None = None,
    period: ArrayLike | None = None,
) -> Array:
    """Interpolates linearly between given points.

    Args:
      x: the positions at which to interpolate.
      xp: the points' positions, in increasing order.
      fp: the points' values.
      left: the value left of all points; the first point's value by default, or ``"extrapolate"``.
      right: the value right of all points; the last point's value by default, or ``"extrapolate"``.
      period: the function's period.

    Returns:
      An array of the shape of ``x`` and of a floating or complex dtype.

    Raises:
      ValueError: if ``xp`` and ``fp`` are not vectors of the same length, ``period`` is not a
        scalar, or ``left`` or ``right`` is a string other than ``"extrapolate"``.

    Example:
      >>> from olympus_numpy import array
      >>> interp(2.5, array([1, 2, 3]), array([1, 4, 9]))
      Array(6.5, dtype=float32)
    """
    check_arraylike("interp", x, xp, fp)
    if np.shape(xp) != np.shape(fp) or np.ndim(xp) != 1:
        raise ValueError("xp and fp must be one-dimensional arrays of equal size")
    if period is not None and np.ndim(period):
        raise ValueError(f"period must be a scalar; got {period}")
    extrapolate = []
    for name, value in (("left", left), ("right", right)):
        if isinstance(value, str) and value != "extrapolate":
            raise ValueError(
                f"the only valid string value of `{name}` is 'extrapolate', but got: {value!r}"
            )
        extrapolate.append(isinstance(value, str))
    left, right = (
        None if extrapolates else value
        for value, extrapolates in zip((left, right), extrapolate, strict=True)
    )
    return _interp(x, xp, fp, left, right, period, tuple(extrapolate))
