# SPDX-License-Identifier: Apache-2.0
"""Resampling of images, and of arrays of any number of dimensions: `resize`.

Along each dimension the new samples are weighted sums of the old samples. A kernel determines the
weights; it is a function of the distance between an old and a new sample. So a resampling is one
matrix product for each dimension. A resampling is linear in the image, and differentiable with
respect to scale and translation.
"""

from __future__ import annotations

import enum
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import olympus_numpy as onp
from olympus_ir import lax
from olympus_ir.programs.jit import jit
from olympus_ir.programs.tracing import is_constant_dim
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import ArrayLike
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import canonicalize_shape
from olympus_numpy.core.axes import canonical_axis

__all__ = ["ResizeMethod", "resize", "scale_and_translate"]


class ResizeMethod(enum.Enum):
    """Interpolation method of `resize` and `scale_and_translate`.

    NEAREST uses the nearest old sample. LINEAR interpolates between two samples. CUBIC is the cubic
    convolution of Keys with the parameter -1/2. CUBIC_PYTORCH equals CUBIC with antialiasing;
    without antialiasing it has the parameter -3/4 and repeats the border, as in PyTorch. LANCZOS3
    and LANCZOS5 are windowed sinc functions. AREA averages the old samples that a new sample
    covers.

    Example:
      >>> from olympus_scipy.images import ResizeMethod
      >>> ResizeMethod.from_string("bicubic")
      <ResizeMethod.CUBIC: 4>

    References:
      R. G. Keys, Cubic convolution interpolation for digital image processing, IEEE Transactions
      on Acoustics, Speech, and Signal Processing 29 (1981).
      C. E. Duchon, Lanczos filtering in one and two dimensions, Journal of Applied Meteorology 18
      (1979).
    """

    NEAREST = 0
    LINEAR = 1
    LANCZOS3 = 2
    LANCZOS5 = 3
    CUBIC = 4
    CUBIC_PYTORCH = 5
    AREA = 6

    @staticmethod
    def from_string(s: str) -> ResizeMethod:
        """Returns the method with a given name, such as ``"linear"``.

        Raises:
          ValueError: no method has the name.
        """
        method = _NAMES.get(s)
        if method is None:
            raise ValueError(
                f'Unknown resize method "{s}"; there are {", ".join(sorted(_NAMES))}, and the '
                "members of olympus.image.ResizeMethod"
            )
        return method


_NAMES = {
    "nearest": ResizeMethod.NEAREST,
    "linear": ResizeMethod.LINEAR,
    "bilinear": ResizeMethod.LINEAR,
    "trilinear": ResizeMethod.LINEAR,
    "triangle": ResizeMethod.LINEAR,
    "lanczos3": ResizeMethod.LANCZOS3,
    "lanczos5": ResizeMethod.LANCZOS5,
    "cubic": ResizeMethod.CUBIC,
    "bicubic": ResizeMethod.CUBIC,
    "tricubic": ResizeMethod.CUBIC,
    "cubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "bicubic-pytorch": ResizeMethod.CUBIC_PYTORCH,
    "area": ResizeMethod.AREA,
}


# ---- kernels: functions of the distance in units of old samples ----


def _triangle(distance: Any) -> Array:
    return onp.maximum(0, 1 - distance)


def _cubic_convolution(a: float, distance: Any) -> Array:
    near = ((a + 2) * distance - (a + 3)) * distance**2 + 1
    far = a * (((distance - 5) * distance + 8) * distance - 4)
    return onp.where(distance < 1, near, onp.where(distance < 2, far, 0))


def _lanczos(radius: int, distance: Any) -> Array:
    window = onp.where(distance < radius, onp.sinc(distance / radius), 0)
    return onp.sinc(distance) * window


_KERNELS: dict[ResizeMethod, Callable[[Any], Array]] = {
    ResizeMethod.LINEAR: _triangle,
    ResizeMethod.LANCZOS3: functools.partial(_lanczos, 3),
    ResizeMethod.LANCZOS5: functools.partial(_lanczos, 5),
    ResizeMethod.CUBIC: functools.partial(_cubic_convolution, -0.5),
}


def _weights(
    method: ResizeMethod, old: int, new: int, scale: Any, translation: Any, antialias: bool
) -> Array:
    """Returns the weight of each old sample (rows) in each new sample (columns).

    Args:
      method: the interpolation method.
      old: the number of old samples.
      new: the number of new samples.
      scale: the number of new samples for each old sample.
      translation: the shift, in units of new samples.
      antialias: whether to widen the kernel when downsampling.
    """
    dtype = scale.dtype
    # The sample at position i covers the interval from i to i + 1; its center is the middle.
    spacing = 1 / scale
    places = (((onp.arange(new, dtype=dtype) + 0.5) - translation) * spacing - 0.5)[None, :]
    positions = onp.arange(old, dtype=dtype)[:, None]
    if method is ResizeMethod.CUBIC_PYTORCH:
        if not antialias:
            return _within(places, old, _clamped_cubic_weights(places, positions))
        method = ResizeMethod.CUBIC
    if method is ResizeMethod.AREA:
        end = onp.minimum(positions + 0.5, places + spacing / 2)
        weights = onp.maximum(0, end - onp.maximum(positions - 0.5, places - spacing / 2))
    else:
        # In downsampling, a wider kernel removes high frequencies.
        width = onp.maximum(spacing, 1) if antialias else 1
        weights = _KERNELS[method](onp.abs(places - positions) / width)
    total = onp.sum(weights, axis=0, keepdims=True)
    enough = onp.abs(total) > 1000 * float(dtypes.finfo(np.float32).eps)
    weights = onp.where(enough, weights / onp.where(enough, total, 1), 0)
    return _within(places, old, weights)


def _within(positions: Any, old: int, weights: Any) -> Array:
    """Returns weights, set to zero for new samples outside of the old image."""
    return onp.where((positions >= -0.5) & (positions <= old - 0.5), weights, 0)


def _clamped_cubic_weights(places: Any, positions: Any) -> Any:
    """Returns the weights of PyTorch's bicubic resampling, which repeats the border samples."""
    weights = onp.zeros_like(places - positions)
    for offset in range(-1, 3):
        neighbor = onp.floor(places) + offset
        weight = _cubic_convolution(-0.75, onp.abs(places - neighbor))
        sample = onp.clip(neighbor, 0, positions.shape[0] - 1)
        weights = weights + onp.where(positions == sample, weight, 0)
    return weights


# ---- resampling ----


def _method(method: str | ResizeMethod) -> ResizeMethod:
    return method if isinstance(method, ResizeMethod) else ResizeMethod.from_string(method)


@functools.partial(jit, static_argnums=(1, 2, 5, 6, 7))
def _resample(
    image: Any,
    shape: tuple[int, ...],
    dimensions: tuple[int, ...],
    scale: Any,
    translation: Any,
    method: ResizeMethod,
    antialias: bool,
    precision: Any,
) -> Array:
    for position, dimension in enumerate(dimensions):
        weights = _weights(
            method,
            image.shape[dimension],
            shape[dimension],
            scale[position],
            translation[position],
            antialias,
        ).astype(image.dtype)
        image = onp.moveaxis(
            onp.tensordot(image, weights, ((dimension,), (0,)), precision=precision), -1, dimension
        )
    return image


def scale_and_translate(
    image: ArrayLike,
    shape: Sequence[int],
    spatial_dims: Sequence[int],
    scale: ArrayLike,
    translation: ArrayLike,
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Array:
    """Scales and translates an image, by resampling it.

    Position x of the image moves to ``x * scale + translation``. Positions count from the edge of
    the first sample, whose center is at 1/2. Outside of the image, values are zero.

    Args:
      image: an array, of shape (..., n, ...).
      shape: the shape of the result; it differs from the image's along ``spatial_dims`` only.
      spatial_dims: the dimensions to resample.
      scale: the factor for each of these dimensions, of shape (len(spatial_dims),).
      translation: the shift along each of these dimensions, in units of new samples, of the same
        shape.
      method: a `ResizeMethod` or its name: linear, cubic, lanczos3, lanczos5, area.
      antialias: whether to widen the kernel when downsampling, which removes frequencies that the
        result cannot represent.
      precision: the precision of the matrix products, as for `lax.dot_general`.

    Returns:
      An array of shape ``shape``, of the image's dtype if that is inexact, else of the default
      float dtype.

    Raises:
      ValueError: shapes do not match, a dimension repeats, or the method is unknown or
        ``"nearest"``.

    Example:
      >>> import numpy as np
      >>> from olympus_scipy.images import scale_and_translate
      >>> one = np.array([1.0], np.float32)
      >>> scale_and_translate(np.arange(4.0), (4,), (0,), one, one, "linear")
      Array([0., 0., 1., 2.], dtype=float32)
    """
    image = onp.asarray(image)
    shape = _checked_shape(image, shape)
    method = _method(method)
    if method is ResizeMethod.NEAREST:
        raise ValueError(
            "Nearest neighbor resampling is not currently supported for scale_and_translate. Use "
            "another method, or olympus.image.resize."
        )
    if not dtypes.issubdtype(image.dtype, np.inexact):
        image = image.astype(dtypes.default_float_dtype())
    if not np.iterable(spatial_dims):
        raise TypeError(f"spatial_dims must be a sequence of integers, got {spatial_dims!r}")
    dimensions = tuple(canonical_axis(dimension, image.ndim) for dimension in spatial_dims)
    if len(set(dimensions)) != len(dimensions):
        raise ValueError(f"spatial_dims must differ from each other, got {tuple(spatial_dims)}")
    scale, translation = _inexact(scale), _inexact(translation)
    for name, values in (("scale", scale), ("translation", translation)):
        if values.shape != (len(dimensions),):
            raise ValueError(
                f"{name} needs one entry for each of the {len(dimensions)} spatial_dims "
                f"{dimensions}, got shape {values.shape}"
            )
    for dimension, (old, new) in enumerate(zip(image.shape, shape, strict=True)):
        if old != new and dimension not in dimensions:
            raise ValueError(
                f"shape {shape} differs from the image's, {image.shape}, along dimension "
                f"{dimension}, which is not one of spatial_dims {dimensions}"
            )
    return _resample(
        image, shape, dimensions, scale, translation, method, bool(antialias), precision
    )


def _inexact(values: Any) -> Array:
    values = onp.asarray(values)
    if dtypes.issubdtype(values.dtype, np.floating):
        return values
    return values.astype(dtypes.default_float_dtype())


def _checked_shape(image: Array, shape: Sequence[int]) -> tuple[int, ...]:
    shape = canonicalize_shape(shape)
    if len(shape) != image.ndim:
        raise ValueError(
            "shape must have length equal to the number of dimensions of x;  "
            f"{shape} vs {image.shape}"
        )
    return shape


def resize(
    image: ArrayLike,
    shape: Sequence[int],
    method: str | ResizeMethod,
    antialias: bool = True,
    precision: Any = lax.Precision.HIGHEST,
) -> Array:
    """Resamples an image to another shape.

    Args:
      image: an array of any number of dimensions.
      shape: the shape of the result, with as many dimensions as ``image``.
      method: a `ResizeMethod` or its name: nearest, linear (or bilinear, trilinear, triangle),
        cubic (bicubic, tricubic), lanczos3, lanczos5, area.
      antialias: whether to widen the kernel when downsampling, which removes frequencies that the
        result cannot represent; no effect for ``"nearest"`` and ``"area"``.
      precision: the precision of the matrix products, as for `lax.dot_general`.

    Returns:
      An array of shape ``shape``, of the image's dtype if that is inexact or the method is
      ``"nearest"``, else of the default float dtype.

    Raises:
      ValueError: the number of dimensions differs, an empty dimension is to grow, or the method is
        unknown.

    Example:
      >>> import numpy as np
      >>> from olympus_scipy.images import resize
      >>> resize(np.arange(4.0), (2,), "area")
      Array([0.5, 2.5], dtype=float32)
    """
    image = onp.asarray(image)
    shape = _checked_shape(image, shape)
    method = _method(method)
    changed = tuple(d for d in range(image.ndim) if image.shape[d] != shape[d])
    for dimension in changed:
        if not image.shape[dimension]:
            raise ValueError(
                f"an image of shape {image.shape} has nothing to sample along dimension {dimension}"
            )
    if method is ResizeMethod.NEAREST:
        return _nearest(image, shape, changed)
    if not dtypes.issubdtype(image.dtype, np.inexact):
        image = image.astype(dtypes.default_float_dtype())
    if not changed:
        return image
    if not all(shape[d] for d in changed):
        return onp.zeros(shape, image.dtype)
    factors = [shape[d] / image.shape[d] for d in changed]
    scale = onp.asarray(factors, dtype=np.float32)
    return _resample(
        image, shape, changed, scale, onp.zeros_like(scale), method, bool(antialias), precision
    )


@functools.partial(jit, static_argnums=(1, 2))
def _nearest(image: Any, shape: tuple[int, ...], dimensions: tuple[int, ...]) -> Array:
    for dimension in dimensions:
        old, new = image.shape[dimension], shape[dimension]
        if is_constant_dim(old) and is_constant_dim(new):
            indices = np.floor((np.arange(new) + 0.5) * np.float32(old / new)).astype(np.int32)
            indices = np.minimum(indices, old - 1)
        else:
            ratio = lax.size_array(old, np.float32) / lax.size_array(new, np.float32)
            indices = onp.floor((onp.arange(new, dtype=np.float32) + 0.5) * ratio)
            indices = onp.minimum(indices.astype(np.int32), old - 1)
        image = onp.take(image, indices, axis=dimension)
    return image
