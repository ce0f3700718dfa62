# SPDX-License-Identifier: Apache-2.0
"""Samplers of test data: functions of a shape and a dtype that draw NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir.settings.config_states import enable_x64
from olympus_ir.types import dtypes

from .scalar_shapes import PYTHON_SCALAR_SHAPE, as_shape, dimensions

__all__ = [
    "rand_bool",
    "rand_default",
    "rand_fullrange",
    "rand_indices_unique_along_axis",
    "rand_int",
    "rand_nonzero",
    "rand_not_small",
    "rand_positive",
    "rand_small",
    "rand_small_positive",
    "rand_some_equal",
    "rand_some_inf",
    "rand_some_inf_and_nan",
    "rand_some_nan",
    "rand_some_zero",
    "rand_uniform",
    "rand_unique_int",
]

Sampler = Callable[..., Any]


def _sampler(
    draw: Callable[..., Any],
    scale: float = 1.0,
    change: Callable[[np.ndarray], Any] = lambda values: values,
) -> Sampler:
    """Returns a sampler of scaled draws; real and imaginary parts are drawn one after the other.

    Args:
      draw: a function of dimensions that returns real numbers.
      scale: a factor of the draws.
      change: a function of the array, applied to it in its dtype.
    """

    def real(shape: Any, dtype: Any) -> np.ndarray:
        drawn = draw(*dimensions(shape))
        if dtypes.issubdtype(dtype, np.unsignedinteger):
            drawn = abs(drawn)
        return np.asarray(scale * drawn).astype(dtype)

    def sample(shape: Any, dtype: Any) -> Any:
        values = real(shape, dtype)
        if dtypes.issubdtype(dtype, np.complexfloating):
            values = values + 1j * real(shape, dtype)
        return as_shape(np.asarray(change(values), dtype), shape, dtype)

    return sample


def rand_default(rng: np.random.RandomState, scale: float = 3) -> Sampler:
    """Returns a sampler of normal numbers with the standard deviation ``scale``."""
    return _sampler(rng.randn, scale)


def rand_nonzero(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of normal numbers other than 0."""
    return _sampler(rng.randn, 3, lambda x: np.where(x == 0, np.ones((), x.dtype), x))


def rand_positive(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of uniform numbers between 1 and 3."""
    return _sampler(rng.rand, 2, lambda x: x + 1)


def rand_small(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of numbers near 0."""
    return _sampler(rng.randn, 1e-3)


def rand_not_small(rng: np.random.RandomState, offset: float = 10.0) -> Sampler:
    """Returns a sampler of normal numbers, moved away from 0 by ``offset``."""
    return _sampler(rng.randn, 3, lambda x: x + np.where(x > 0, offset, -offset))


def rand_small_positive(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of positive numbers near 0."""
    return _sampler(rng.rand, 2e-5)


def rand_uniform(rng: np.random.RandomState, low: float = 0.0, high: float = 1.0) -> Sampler:
    """Returns a sampler of uniform numbers between two bounds.

    Raises:
      ValueError: ``low`` is not less than ``high``.
    """
    if not low < high:
        raise ValueError(f"low must be less than high, got {low} and {high}")
    return _sampler(rng.rand, change=lambda x: x * (high - low) + low)


def rand_some_equal(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of numbers about half of which are equal to the first."""

    def repeat_first(x: np.ndarray) -> np.ndarray:
        if x.size == 0:
            return x
        return np.where(rng.rand(*x.shape) < 0.5, x.ravel()[0], x)

    return _sampler(rng.randn, 100.0, repeat_first)


def _with_values(
    rng: np.random.RandomState, values: tuple[float, ...], probability: float
) -> Sampler:
    """Returns a sampler of normal numbers, some replaced by each of the values.

    Integers and complex numbers have none of them replaced.
    """
    base = rand_default(rng)

    def sample(shape: Any, dtype: Any) -> Any:
        if not dtypes.issubdtype(dtype, np.floating):
            return base(shape, dtype)
        replaced = [rng.rand(*dimensions(shape)) < probability for _ in values]
        numbers = base(shape, dtype)
        for value, places in zip(values, replaced, strict=True):
            numbers = np.where(places, np.array(value, dtype), numbers)
        return as_shape(np.asarray(numbers, dtype), shape, dtype)

    return sample


def rand_some_inf(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of numbers, with infinities among floats."""
    return _with_values(rng, (np.inf, -np.inf), 0.1)


def rand_some_inf_and_nan(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of numbers, with infinities and NaN among floats."""
    return _with_values(rng, (np.inf, -np.inf, np.nan), 0.1)


def rand_some_nan(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of numbers, with NaN of both signs among floats and complex numbers."""
    real = _with_values(rng, (np.nan, -np.nan), 0.05)

    def sample(shape: Any, dtype: Any) -> Any:
        if not dtypes.issubdtype(dtype, np.complexfloating):
            return real(shape, dtype)
        part = np.zeros((), dtype).real.dtype
        values = real(shape, part) + np.array(1j, dtype) * real(shape, part)
        return as_shape(values, shape, dtype)

    return sample


def rand_some_zero(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of normal numbers about half of which are 0."""
    base = rand_default(rng)

    def sample(shape: Any, dtype: Any) -> Any:
        zeros = rng.rand(*dimensions(shape)) < 0.5
        values = np.where(zeros, np.zeros((), dtype), base(shape, dtype))
        return as_shape(np.asarray(values, dtype), shape, dtype)

    return sample


def rand_bool(rng: np.random.RandomState) -> Sampler:
    """Returns a sampler of truth values, in any dtype."""

    def sample(shape: Any, dtype: Any) -> Any:
        truths = rng.rand(*dimensions(shape)) < 0.5
        return as_shape(np.asarray(truths, dtype), shape, dtype)

    return sample


def rand_fullrange(rng: np.random.RandomState, standardize_nans: bool = False) -> Sampler:
    """Returns a sampler of values of random bytes.

    Args:
      rng: the generator.
      standardize_nans: whether all NaN have the same bits.
    """

    def sample(
        shape: Any, dtype: Any, post: Callable[[np.ndarray], np.ndarray] = lambda values: values
    ) -> Any:
        dtype = np.dtype(dtype)
        size = dtype.itemsize * math.prod(dimensions(shape))
        largest = np.iinfo(np.uint8).max
        values = post(rng.randint(0, largest, size=size, dtype=np.uint8)).view(dtype)
        if shape is PYTHON_SCALAR_SHAPE and dtype in (np.uint64, np.uint32):
            # Python's integers are signed, of the default width.
            wide = dtype == np.uint64 or enable_x64.value
            values = values.astype(np.int64 if wide else np.int32)
        values = values.reshape(dimensions(shape))
        if standardize_nans and np.issubdtype(dtype, np.floating):
            values = np.where(np.isnan(values), np.array(np.nan, dtype), values)
        return as_shape(values, shape, dtype)

    return sample


def rand_int(rng: np.random.RandomState, low: int = 0, high: int | None = None) -> Sampler:
    """Returns a sampler of integers from ``low`` to ``high - 1``, in any dtype.

    Raises:
      ValueError: a sample of a dtype of no integers has no upper bound.
    """

    def sample(shape: Any, dtype: Any) -> Any:
        is_integer = np.issubdtype(dtype, np.integer)
        bound = high
        if low == 0 and high is None:
            if not is_integer:
                raise ValueError(f"rand_int of dtype {dtype} needs a value of `high`")
            bound = np.iinfo(dtype).max
        drawn = rng.randint(low, bound, size=shape, dtype=dtype if is_integer else np.int64)
        return drawn.astype(dtype)

    return sample


def rand_unique_int(rng: np.random.RandomState, high: int | None = None) -> Sampler:
    """Returns a sampler of different integers below ``high``, by default the number of them."""

    def sample(shape: Any, dtype: Any) -> Any:
        numbers = np.arange(high or math.prod(dimensions(shape)), dtype=dtype)
        return rng.choice(numbers, size=shape, replace=False)

    return sample


def rand_indices_unique_along_axis(rng: np.random.RandomState) -> Callable[..., np.ndarray]:
    """Returns a sampler of indices below ``dim`` that do not repeat along an axis.

    Some indices are negative, unless ``allow_negative`` is False.
    """

    def sample(
        dim: int, shape: tuple[int, ...], axis: int, allow_negative: bool = True
    ) -> np.ndarray:
        others = tuple(np.delete(shape, axis))
        rows = [rng.choice(dim, size=shape[axis], replace=False) for _ in np.ndindex(*others)]
        indices = np.moveaxis(np.reshape(rows, (*others, shape[axis])), -1, axis).astype(int)
        if not allow_negative:
            return indices
        return indices - dim * rng.choice([False, True], indices.shape)

    return sample
