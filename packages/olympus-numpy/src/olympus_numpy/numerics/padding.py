# SPDX-License-Identifier: Apache-2.0
"""Padding: `pad`, which adds elements at the edges of an array."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.core.sizes import is_at_most, max_dim, min_dim
from olympus_ir.loading import deferred
from olympus_ir.programs.tracing import Tracer, concrete_or_error, is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array

from ..arrays.flipping import flip
from ..core.compilation import compiled, unless_default
from ..core.options import is_among
from ..core.promotion import check_arraylike, convert, ensure_array, spread
from ..elementwise.floats import round as round_to_even
from ..reductions.extremes import largest, smallest
from ..reductions.moments import mean
from .ranges import linspace

if TYPE_CHECKING:
    from ..elementwise import vectorization
    from ..ordering import quantiles
else:
    vectorization = deferred("..elementwise.vectorization", milliseconds=0.6)
    quantiles = deferred("..ordering.quantiles", milliseconds=0.5)

__all__ = ["pad"]

_KEYWORDS = {
    "constant": ("constant_values",),
    "edge": (),
    "empty": (),
    "linear_ramp": ("end_values",),
    "maximum": ("stat_length",),
    "mean": ("stat_length",),
    "median": ("stat_length",),
    "minimum": ("stat_length",),
    "reflect": ("reflect_type",),
    "symmetric": ("reflect_type",),
    "wrap": (),
}

Widths = tuple[tuple[int, int], ...]

# Copies of an array that a program joins one by one.
_MOST_PARTS = 16


def pad(
    array: ArrayLike,
    pad_width: ArrayLike | Sequence[Any] | Mapping[int, Any],
    mode: str | Callable[..., Any] = "constant",
    **kwargs: Any,
) -> Array:
    """Returns an array with elements added at both ends of each dimension.

    Args:
      array: an array.
      pad_width: the numbers of added elements: one number, a pair for before and after, a pair for
        each dimension, or a dictionary from dimension to number or pair.
      mode: the kind of padding: ``"constant"``, ``"edge"``, ``"empty"``, ``"linear_ramp"``,
        ``"maximum"``, ``"mean"``, ``"median"``, ``"minimum"``, ``"reflect"``, ``"symmetric"`` or
        ``"wrap"``; or a function, which is called as NumPy calls it and returns the padded line.
      **kwargs: the option of the mode: ``constant_values`` of ``"constant"``, ``end_values`` of
        ``"linear_ramp"``, ``stat_length`` of ``"maximum"``, ``"mean"``, ``"median"`` and
        ``"minimum"``, ``reflect_type`` of ``"reflect"`` and ``"symmetric"``; or the keyword
        arguments of the function.

    Returns:
      An array of the dtype of ``array``, larger by the widths.

    Raises:
      NotImplementedError: if ``mode`` is unknown.
      TypeError: if the values are None.
      ValueError: if a keyword does not belong to the mode, or ``reflect_type`` is unknown.

    Example:
      >>> from olympus_numpy import array
      >>> pad(array([1, 2]), (1, 2), constant_values=9)
      Array([9, 1, 2, 9, 9], dtype=int32)
    """
    check_arraylike("pad", array)
    array = ensure_array(array)
    widths = _pairs_of_integers(pad_width, array.ndim, "pad_width")
    if callable(mode):
        return _pad_by_function(array, widths, mode, **kwargs)
    if not is_among(mode, _KEYWORDS):
        raise NotImplementedError(f"Unimplemented padding mode '{mode}' for np.pad.")
    unknown = set(kwargs) - set(_KEYWORDS[mode])
    if unknown:
        raise ValueError(f"unsupported keyword arguments for mode {mode!r}: {sorted(unknown)}")
    stat_length = kwargs.get("stat_length")
    if stat_length is not None:
        stat_length = _pairs_of_integers(stat_length, array.ndim, "stat_length")
    values = kwargs.get("constant_values", kwargs.get("end_values", 0))
    reflect_type = kwargs.get("reflect_type", "even")
    if reflect_type not in ("even", "odd"):
        raise ValueError(f"pad: reflect_type must be 'even' or 'odd', got {reflect_type!r}")
    if values is None:
        name = "end_values" if mode == "linear_ramp" else "constant_values"
        raise TypeError(f"pad requires numbers as `{name}`, got None; leave it out for zeros")
    if mode == "linear_ramp":
        values = unless_default(values, 0)
    return _pad(array, values, widths, mode, stat_length, reflect_type)


# ---- arguments ----


def _pairs_of_integers(value: Any, ndim: int, name: str) -> Widths:
    if value.__class__ is int and value >= 0:  # The most frequent case needs no arrays.
        return ((value, value),) * ndim
    if _has_symbolic(value):
        pairs = _broadcast_pairs(np.array(value, object), ndim, name)
        return tuple(map(tuple, pairs.tolist()))
    if isinstance(value, Mapping):
        return _pairs_of_mapping(value, ndim, name)
    if isinstance(value, Tracer):
        value = concrete_or_error(np.asarray, value, f"{name} argument of jnp.pad")
    try:
        array = np.asarray(value)
    except ValueError:
        raise TypeError(f"`{name}` entries must be the same shape: {value}") from None
    if array.dtype.kind not in "iu":
        raise TypeError(f"`{name}` must be of integral type.")
    pairs = _broadcast_pairs(array, ndim, name)
    if (pairs < 0).any():
        raise ValueError("index can't contain negative values")
    return tuple(map(tuple, pairs.tolist()))


def _has_symbolic(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return any(map(_has_symbolic, value))
    return not is_constant_dim(value)


def _pairs_of_mapping(value: Mapping[int, Any], ndim: int, name: str) -> Widths:
    pairs = [(0, 0)] * ndim
    for axis, width in value.items():
        if not -ndim <= axis < ndim:
            raise ValueError(f"pad: `{name}` names axis {axis} of an array of {ndim} dimensions")
        (pairs[axis],) = _pairs_of_integers(width, 1, name)
    return tuple(pairs)


def _broadcast_pairs(array: np.ndarray, ndim: int, name: str) -> np.ndarray:
    """Returns one pair for each dimension, from one number, one pair, or all pairs."""
    if array.shape == (ndim, 2):
        return array
    if array.shape in ((), (1,)):
        return np.broadcast_to(array.reshape(1, 1), (ndim, 2))
    if array.shape in ((2,), (1, 2)):
        return np.broadcast_to(array.reshape(1, 2), (ndim, 2))
    if array.shape == (ndim, 1) and ndim > 1:
        return np.broadcast_to(array, (ndim, 2))
    raise ValueError(
        f"jnp.pad: {name} with nd={ndim} has unsupported shape {array.shape}. Valid shapes are "
        f"({ndim}, 2), (1, 2), (2,), (1,), or ()."
    )


def _pairs_in_sequence(values: list[Any] | tuple[Any, ...], ndim: int) -> list[list[Any]]:
    """Returns one pair for each dimension, from one value, one pair or several pairs."""
    is_flat = not any(isinstance(row, list | tuple) for row in values)
    if is_flat and len(values) in (1, 2):
        rows = [list(values)]
    else:
        rows = [list(row) if isinstance(row, list | tuple) else [row] for row in values]
    rows = [row * 2 if len(row) == 1 else row for row in rows]
    rows = rows * ndim if len(rows) == 1 else rows
    if len(rows) != ndim or any(len(row) != 2 for row in rows):
        raise ValueError(f"pad: values {values!r} do not fit an array of {ndim} dimensions")
    return rows


def _value_pairs(values: Any, ndim: int, dtype: Any) -> list[tuple[Any, Any]]:
    """Returns one pair of values for each dimension; values may be traced."""
    if isinstance(values, list | tuple):
        pairs = _pairs_in_sequence(values, ndim)
        return [(convert(low, dtype), convert(high, dtype)) for low, high in pairs]
    values = ensure_array(values)
    if values.ndim == 0:
        value = convert(values, dtype)
        return [(value, value)] * ndim
    values = convert(values, dtype)
    if values.shape in ((2,), (1,), (1, 2), (1, 1)) or values.shape == (ndim, 1):
        values = spread(values, (ndim, 2))
    if values.shape != (ndim, 2):
        raise ValueError(f"pad: values of shape {values.shape} do not fit {ndim} dimensions")
    return [(values[axis, 0], values[axis, 1]) for axis in range(ndim)]


# ---- modes ----


def _padded(
    array: Any,
    values: Any,
    widths: Widths,
    mode: str,
    stat_length: Widths | None,
    reflect_type: str,
) -> Any:
    result = _padded_by_mode(array, values, widths, mode, stat_length, reflect_type)
    return convert(result, array.dtype, getattr(array, "weak_type", False))


def _padded_by_mode(
    array: Any,
    values: Any,
    widths: Widths,
    mode: str,
    stat_length: Widths | None,
    reflect_type: str,
) -> Any:
    if mode == "constant":
        return _pad_with_constants(array, values, widths)
    if mode == "empty":
        extended = dtypes.is_extended(array.dtype)
        zero = lax.empty((), array.dtype) if extended else np.zeros((), array.dtype)
        return lax.pad(array, zero, [(before, after, 0) for before, after in widths])
    if mode == "wrap":
        return _pad_by_wrapping(array, widths)
    if mode in ("symmetric", "reflect"):
        return _pad_by_reflecting(array, widths, mode, reflect_type)
    if mode == "edge":
        return _pad_by_edges(array, widths)
    if mode == "linear_ramp":
        return _pad_by_ramps(array, 0 if values is None else values, widths)
    return _pad_by_statistics(array, widths, mode, stat_length)


_pad = compiled(_padded, ("widths", "mode", "stat_length", "reflect_type"), name="_pad")


def _pad_with_constants(array: Any, values: Any, widths: Widths) -> Any:
    if not isinstance(values, list | tuple) and np.ndim(values) == 0:
        value = convert(values, array.dtype, getattr(array, "weak_type", False))
        return lax.pad(array, value, [(before, after, 0) for before, after in widths])
    pairs = _value_pairs(values, array.ndim, array.dtype)
    for axis, ((before, after), (low, high)) in enumerate(zip(widths, pairs, strict=True)):
        nothing = [(0, 0, 0)] * array.ndim
        for value, width in ((low, (before, 0, 0)), (high, (0, after, 0))):
            config = list(nothing)
            config[axis] = width
            array = lax.pad(array, value, config)
    return array


def _slice(x: Any, start: int, stop: int, axis: int) -> Any:
    return lax.slice_in_dim(x, start, stop, axis=axis)


def _extended_axes(array: Any, widths: Widths, mode: str) -> Iterator[tuple[int, int, int]]:
    """Yields each axis that is extended by elements of the array, and its widths.

    Raises:
      ValueError: such an axis is empty.
    """
    for axis, (before, after) in enumerate(widths):
        if before == after == 0:
            continue
        if array.shape[axis] == 0:
            raise ValueError(
                f"Cannot apply {mode!r} padding to empty axis {axis}: only 'constant' and 'empty' "
                "padding extends it"
            )
        yield axis, before, after


def _pad_by_wrapping(array: Any, widths: Widths) -> Any:
    for axis, before, after in _extended_axes(array, widths, "wrap"):
        size = array.shape[axis]
        repeats_before, rest_before = divmod(before, size)
        repeats_after, rest_after = divmod(after, size)
        parts = _repeated(array, repeats_before + 1 + repeats_after, axis)
        if rest_before:
            parts.insert(0, _slice(array, size - rest_before, size, axis))
        if rest_after:
            parts.append(_slice(array, 0, rest_after, axis))
        array = lax.concatenate(parts, axis)
    return array


def _repeated(array: Any, count: int, axis: int) -> list[Any]:
    """Returns arrays that are, joined along an axis, ``count`` times the given one."""
    if not is_constant_dim(count) or count <= _MOST_PARTS:
        return [array] * count
    shape = array.shape
    spread_out = lax.broadcast_in_dim(
        array,
        (*shape[:axis], count, *shape[axis:]),
        (*range(axis), *range(axis + 1, array.ndim + 1)),
    )
    return [lax.reshape(spread_out, (*shape[:axis], count * shape[axis], *shape[axis + 1 :]))]


def _pad_by_reflecting(array: Any, widths: Widths, mode: str, reflect_type: str) -> Any:
    for axis, before, after in _extended_axes(array, widths, mode):
        size = array.shape[axis]
        if mode == "reflect" and not (is_constant_dim(size) or is_at_most(2, size)):
            raise ValueError(
                "Shape polymorphism is supported for pad with mode='reflect' only where the size "
                f"of the axis is known to be larger than 1, got {size} for axis {axis}; state it "
                "as a constraint of the dimension variables."
            )
        skip = 1 if mode == "reflect" and size > 1 else 0
        array = _reflect(array, before, axis, skip, size, reflect_type, front=True)
        array = _reflect(array, after, axis, skip, size, reflect_type, front=False)
    return array


def _reflect(
    array: Any, width: int, axis: int, skip: int, size: int, reflect_type: str, front: bool
) -> Any:
    """Mirrors the elements at one end, repeatedly, until the padding is wide enough."""
    unit = max(size - skip, 1)
    # Mirrors are at multiples of the unit. Wide paddings grow by all such multiples that are there.
    is_wide = is_constant_dim(width) and is_constant_dim(size) and width > _MOST_PARTS * size
    while width:
        available = array.shape[axis]
        step = min(width, (available - skip) // unit * unit if is_wide else unit)
        edge = _slice(array, 0, 1, axis) if front else _slice(array, available - 1, available, axis)
        if front:
            part = _slice(array, skip, skip + step, axis)
        else:
            part = _slice(array, available - skip - step, available - skip, axis)
        part = flip(part, axis)
        if reflect_type == "odd":
            double = lax.mul(edge, np.array(2, array.dtype))
            part = lax.sub(spread(double, part.shape), part)
        array = lax.concatenate([part, array] if front else [array, part], axis)
        width -= step
    return array


def _repeat_edge(edge: Any, width: int, axis: int) -> Any:
    """Repeats one slice along its axis."""
    shape = (*edge.shape[: axis + 1], width, *edge.shape[axis + 1 :])
    dims = (*range(axis + 1), *range(axis + 2, len(shape)))
    spread_out = lax.broadcast_in_dim(edge, shape, dims)
    return lax.reshape(spread_out, (*edge.shape[:axis], width, *edge.shape[axis + 1 :]))


def _pad_by_edges(array: Any, widths: Widths) -> Any:
    for axis, before, after in _extended_axes(array, widths, "edge"):
        size = array.shape[axis]
        parts = [array]
        if before:
            parts.insert(0, _repeat_edge(_slice(array, 0, 1, axis), before, axis))
        if after:
            parts.append(_repeat_edge(_slice(array, size - 1, size, axis), after, axis))
        array = lax.concatenate(parts, axis)
    return array


def _pad_by_ramps(array: Any, end_values: Any, widths: Widths) -> Any:
    pairs = _value_pairs(end_values, array.ndim, array.dtype)
    for axis, ((before, after), (low, high)) in enumerate(zip(widths, pairs, strict=True)):
        size = array.shape[axis]
        first = _squeezed(_slice(array, 0, 1, axis), axis)
        last = _squeezed(_slice(array, size - 1, size, axis), axis)
        ramp_up = linspace(
            spread(ensure_array(low), first.shape),
            first,
            before,
            False,
            axis=axis,
            dtype=array.dtype,
        )
        ramp_down = linspace(
            spread(ensure_array(high), last.shape), last, after, False, axis=axis, dtype=array.dtype
        )
        array = lax.concatenate([ramp_up, array, flip(ramp_down, axis)], axis)
    return array


def _squeezed(x: Any, axis: int) -> Any:
    return lax.squeeze(x, (axis,))


def _mean_of(x: Any, axis: int) -> Any:
    return mean(x, axis=axis, keepdims=True)


def _median_of(x: Any, axis: int) -> Any:
    return quantiles.median(x, axis=axis, keepdims=True)


def _largest_of(x: Any, axis: int) -> Any:
    return largest(x, axis, True)


def _smallest_of(x: Any, axis: int) -> Any:
    return smallest(x, axis, True)


_STATISTICS: dict[str, Callable[[Any, int], Any]] = {
    "maximum": _largest_of,
    "mean": _mean_of,
    "median": _median_of,
    "minimum": _smallest_of,
}


def _pad_by_statistics(array: Any, widths: Widths, mode: str, stat_length: Widths | None) -> Any:
    statistic = _STATISTICS[mode]
    for axis, (before, after) in enumerate(widths):
        size = array.shape[axis]
        lengths = (size, size) if stat_length is None else stat_length[axis]
        # The mean of an empty axis is NaN, if the caller has not asked for the mean of no elements.
        if 0 in lengths and (stat_length is not None or mode in ("maximum", "minimum")):
            raise ValueError("stat_length of 0 yields no value for padding")
        start = _slice(array, 0, min_dim(lengths[0], size), axis)
        end = _slice(array, max_dim(size - lengths[1], 0), size, axis)
        values = [statistic(part, axis) for part in (start, end)]
        if dtypes.issubdtype(array.dtype, np.integer):
            values = [round_to_even(value) for value in values]
        values = [convert(value, array.dtype) for value in values]
        parts = [
            spread(values[0], (*array.shape[:axis], before, *array.shape[axis + 1 :])),
            array,
            spread(values[1], (*array.shape[:axis], after, *array.shape[axis + 1 :])),
        ]
        array = lax.concatenate(parts, axis)
    return array


def _pad_by_function(array: Any, widths: Widths, fun: Callable[..., Any], **kwargs: Any) -> Any:
    padded = lax.pad(
        array, np.zeros((), array.dtype), [(before, after, 0) for before, after in widths]
    )
    for axis in range(padded.ndim):
        padded = vectorization.apply_along_axis(fun, axis, padded, widths[axis], axis, kwargs)
    return padded
