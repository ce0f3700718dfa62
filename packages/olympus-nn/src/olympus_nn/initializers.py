# SPDX-License-Identifier: Apache-2.0
"""Initializers of weights: functions of a random key, a shape and a dtype.

`zeros` and `ones` are initializers. The other functions of this module make initializers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
import olympus_random as random
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike, DTypeLike, Shape, ShardingLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import canonicalize_shape
from olympus_ir.types.resharding import laid_out
from olympus_numpy.core.promotion import convert

from .activations import default_float
from .orthogonal_initializers import delta_orthogonal, orthogonal
from .protocols import Initializer

__all__ = [
    "Initializer",
    "constant",
    "delta_orthogonal",
    "glorot_normal",
    "glorot_uniform",
    "he_normal",
    "he_uniform",
    "kaiming_normal",
    "kaiming_uniform",
    "lecun_normal",
    "lecun_uniform",
    "normal",
    "ones",
    "orthogonal",
    "truncated_normal",
    "uniform",
    "variance_scaling",
    "xavier_normal",
    "xavier_uniform",
    "zeros",
]

Axes = int | Sequence[int]

# Standard deviations of the normal distribution that is truncated at two standard deviations, and
# of its complex counterpart.
TRUNCATED_DEVIATION = 0.87962566103423978
TRUNCATED_COMPLEX_DEVIATION = 0.95311164380491208


# ---- constants ----


@laid_out(position=3)
def zeros(
    key: ArrayLike, shape: Shape, dtype: DTypeLike | None = None, out_sharding: ShardingLike = None
) -> Array:
    """Returns zeros; the key is not used.

    Example:
      >>> zeros(None, (2,)).tolist()
      [0.0, 0.0]
    """
    return onp.zeros(shape, default_float(dtype))


@laid_out(position=3)
def ones(
    key: ArrayLike, shape: Shape, dtype: DTypeLike | None = None, out_sharding: ShardingLike = None
) -> Array:
    """Returns ones; the key is not used.

    Example:
      >>> ones(None, (2,)).tolist()
      [1.0, 1.0]
    """
    return onp.ones(shape, default_float(dtype))


def constant(value: ArrayLike, dtype: DTypeLike | None = None) -> Initializer:
    """Makes an initializer that sets all weights to one value.

    Args:
      value: a scalar, or an array that broadcasts to the shape.
      dtype: the dtype of the weights if the initializer is called without a dtype.

    Returns:
      The initializer, a function of a key, a shape and a dtype.

    Example:
      >>> constant(7.0)(None, (2,)).tolist()
      [7.0, 7.0]
    """
    default = dtype

    @api_boundary
    @laid_out(position=3)
    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: ShardingLike = None) -> Array:
        return onp.full(shape, value, dtype=default_float(default if dtype is None else dtype))

    return init


def _constant(value: Any, dtype: Any) -> Any:
    """Returns a value in a dtype: a NumPy array, unless the value is an `Array` or a tracer."""
    return onp.asarray(value, dtype) if isinstance(value, Array) else np.asarray(value, dtype)


# ---- one distribution ----


def uniform(scale: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """Makes an initializer that draws uniformly from 0 to ``scale``.

    Args:
      scale: the upper end.
      dtype: the dtype of the weights if the initializer is called without a dtype.

    Returns:
      The initializer, a function of a key, a shape and a dtype.

    Example:
      >>> uniform(10.0)(random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    @api_boundary
    @laid_out(position=3)
    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: ShardingLike = None) -> Array:
        dtype = default_float(default if dtype is None else dtype)
        return onp.multiply(random.uniform(key, shape, dtype), _constant(scale, dtype))

    return init


def normal(stddev: ArrayLike = 1e-2, dtype: DTypeLike | None = None) -> Initializer:
    """Makes an initializer that draws from the normal distribution around zero.

    Args:
      stddev: the standard deviation.
      dtype: the dtype of the weights if the initializer is called without a dtype.

    Returns:
      The initializer, a function of a key, a shape and a dtype.

    Example:
      >>> normal(5.0)(random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    @api_boundary
    @laid_out(position=3)
    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: ShardingLike = None) -> Array:
        dtype = default_float(default if dtype is None else dtype)
        return onp.multiply(random.normal(key, shape, dtype), _constant(stddev, dtype))

    return init


def truncated_normal(
    stddev: ArrayLike = 1e-2,
    dtype: DTypeLike | None = None,
    lower: ArrayLike = -2.0,
    upper: ArrayLike = 2.0,
) -> Initializer:
    """Makes an initializer that draws from the truncated normal distribution around zero.

    Args:
      stddev: the standard deviation before the truncation.
      dtype: the dtype of the weights if the initializer is called without a dtype.
      lower: the lower end, in standard deviations.
      upper: the upper end.

    Returns:
      The initializer, a function of a key, a shape and a dtype.

    Example:
      >>> truncated_normal(5.0)(random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    @api_boundary
    @laid_out(position=3)
    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: ShardingLike = None) -> Array:
        dtype = default_float(default if dtype is None else dtype)
        draws = random.truncated_normal(key, lower, upper, shape, dtype)
        return onp.multiply(draws, _constant(stddev, dtype))

    return init


# ---- variance by the number of connections ----


def variance_scaling(
    scale: ArrayLike,
    mode: str,
    distribution: str,
    in_axis: Axes = -2,
    out_axis: Axes = -1,
    batch_axis: Axes = (),
    dtype: DTypeLike | None = None,
) -> Initializer:
    """Makes an initializer of weights with variance ``scale`` over the number of connections.

    Args:
      scale: the numerator.
      mode: the number of connections: ``"fan_in"``, the number of inputs of a unit; ``"fan_out"``,
        the number of its outputs; ``"fan_avg"`` or ``"fan_geo_avg"``, the arithmetic or geometric
        mean of both.
      distribution: ``"truncated_normal"``, ``"normal"`` or ``"uniform"``.
      in_axis: the axis or axes of inputs.
      out_axis: the axis or axes of outputs.
      batch_axis: the axis or axes along which there are independent weights. All other axes are
        axes of a window, whose elements count as connections.
      dtype: the dtype of the weights if the initializer is called without a dtype.

    Returns:
      The initializer, a function of a key, a shape and a dtype.

    Raises:
      ValueError: ``mode`` or ``distribution`` is unknown. The error is raised when weights are
        drawn.

    Example:
      >>> variance_scaling(2.0, "fan_in", "normal")(random.key(0), (2, 3)).shape
      (2, 3)
    """
    default = dtype

    @api_boundary
    @laid_out(position=3)
    def init(key: Any, shape: Any, dtype: Any = None, out_sharding: ShardingLike = None) -> Array:
        dtype = default_float(default if dtype is None else dtype)
        shape = canonicalize_shape(shape)
        count = _connections(mode, shape, in_axis, out_axis, batch_axis)
        variance = _constant(scale / count, dtype)
        if distribution == "normal":
            return onp.multiply(random.normal(key, shape, dtype), onp.sqrt(variance))
        is_complex = dtypes.issubdtype(dtype, np.complexfloating)
        if distribution == "uniform":
            if is_complex:
                draws = _in_disk(key, shape, dtype)
                return onp.multiply(draws, onp.sqrt(variance))
            draws = random.uniform(key, shape, dtype, -1)
            return onp.multiply(draws, onp.sqrt(onp.multiply(np.asarray(3, dtype), variance)))
        if distribution == "truncated_normal":
            if is_complex:
                deviation = np.asarray(TRUNCATED_COMPLEX_DEVIATION, dtype)
                draws = _truncated_complex_normal(key, 2, shape, dtype)
            else:
                deviation = np.asarray(TRUNCATED_DEVIATION, dtype)
                draws = random.truncated_normal(key, -2, 2, shape, dtype)
            return onp.multiply(draws, onp.divide(onp.sqrt(variance), deviation))
        raise ValueError(
            f"invalid distribution for variance scaling initializer: {distribution}. "
            "Expected 'truncated_normal', 'normal' or 'uniform'."
        )

    return init


def _connections(
    mode: str, shape: tuple[int, ...], in_axis: Axes, out_axis: Axes, batch_axis: Axes
) -> Any:
    if len(shape) < 2 and in_axis == -2:
        raise ValueError(
            f"Can't compute input and output sizes of a {len(shape)}-dimensional weights tensor "
            "with default in_axis. Must be at least 2D or specify in_axis explicitly."
        )
    inputs, outputs, batch = (_size(shape, axes) for axes in (in_axis, out_axis, batch_axis))
    window = math.prod(shape) / inputs / outputs / batch
    fan_in, fan_out = inputs * window, outputs * window
    if mode == "fan_in":
        return fan_in
    if mode == "fan_out":
        return fan_out
    if mode == "fan_avg":
        return (fan_in + fan_out) / 2
    if mode == "fan_geo_avg":
        return math.sqrt(fan_in * fan_out)
    raise ValueError(
        f"invalid mode for variance scaling initializer: {mode}. "
        "Expected 'fan_in', 'fan_out', 'fan_avg' or 'fan_geo_avg'."
    )


def _size(shape: tuple[int, ...], axes: Axes) -> int:
    if isinstance(axes, int):
        return shape[axes]
    return math.prod(shape[axis] for axis in axes)


def _in_disk(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Samples complex numbers uniformly from a disk, with variance one."""
    radius_key, angle_key = random.split(key)
    uniform_radius = random.uniform(radius_key, shape, np.empty(0, dtype).real.dtype)
    radius = onp.sqrt(onp.multiply(2, uniform_radius))
    return onp.multiply(convert(radius, dtype), _on_circle(angle_key, shape, dtype))


def _truncated_complex_normal(key: Any, upper: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Samples complex normal numbers of magnitude up to ``upper``."""
    radius_key, angle_key = random.split(key)
    real_dtype = np.empty(0, dtype).real.dtype
    covered = onp.subtract(1, onp.exp(np.asarray(-(upper**2), dtype)))
    uniform_part = convert(random.uniform(radius_key, shape, real_dtype), dtype)
    tail = onp.subtract(1, onp.multiply(covered, uniform_part))
    radius = onp.sqrt(onp.negative(onp.log(tail)))
    return onp.multiply(radius, _on_circle(angle_key, shape, dtype))


def _on_circle(key: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    turns = convert(random.uniform(key, shape, np.empty(0, dtype).real.dtype), dtype)
    return onp.exp(onp.multiply(1j, onp.multiply(2 * np.pi, turns)))


def _family(
    scale: float, mode: str, distribution: str, name: str, law: str
) -> Callable[..., Initializer]:
    def make(
        in_axis: Axes = -2,
        out_axis: Axes = -1,
        batch_axis: Axes = (),
        dtype: DTypeLike | None = None,
    ) -> Initializer:
        return variance_scaling(scale, mode, distribution, in_axis, out_axis, batch_axis, dtype)

    make.__name__ = make.__qualname__ = name
    make.__doc__ = f"""Makes an initializer of variance {law}.

    It is ``variance_scaling({scale}, {mode!r}, {distribution!r})``.

    Args:
      in_axis: the axis or axes of inputs.
      out_axis: the axis or axes of outputs.
      batch_axis: the axis or axes along which there are independent weights.
      dtype: the dtype of the weights if the initializer is called without a dtype.

    Example:
      >>> {name}()(random.key(0), (2, 3)).shape
      (2, 3)
    """
    return make


_both = "two divided by the number of inputs and outputs together"
glorot_uniform = _family(1.0, "fan_avg", "uniform", "glorot_uniform", _both)
glorot_normal = _family(1.0, "fan_avg", "truncated_normal", "glorot_normal", _both)
_one = "one divided by the number of inputs"
lecun_uniform = _family(1.0, "fan_in", "uniform", "lecun_uniform", _one)
lecun_normal = _family(1.0, "fan_in", "truncated_normal", "lecun_normal", _one)
_two = "two divided by the number of inputs"
he_uniform = _family(2.0, "fan_in", "uniform", "he_uniform", _two)
he_normal = _family(2.0, "fan_in", "truncated_normal", "he_normal", _two)
xavier_uniform, xavier_normal = glorot_uniform, glorot_normal
kaiming_uniform, kaiming_normal = he_uniform, he_normal
