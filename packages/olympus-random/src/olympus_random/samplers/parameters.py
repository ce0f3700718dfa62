# SPDX-License-Identifier: Apache-2.0
"""Conversion of the parameters of distributions to the shape and the dtype of samples."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax

from ..keys.arguments import check_safe_casts, checked_shape, sample_shape

__all__ = [
    "as_dtype",
    "broadcast_array",
    "broadcast_parameter",
    "in_rank_of",
    "parameters_shape",
    "scalar",
]


def parameters_shape(name: str, shape: Any, *parameters: Any, dtype: Any = None) -> tuple[int, ...]:
    """Returns the shape of samples: the given shape, or by default that of the parameters.

    ``dtype`` is the dtype of the samples. If it is given, parameters must convert to it without
    loss.
    """
    if dtype is not None:
        check_safe_casts(name, dtype, *parameters)
    shapes = [np.shape(parameter) for parameter in parameters]
    if shape is None:
        return lax.broadcast_shapes(*shapes)
    shape = sample_shape(shape)
    checked_shape(name, shape, *shapes)
    return shape


def scalar(value: Any, dtype: Any) -> Any:
    """Returns a known number as a scalar array, without running a program."""
    return np.asarray(value, dtype)


def as_dtype(value: Any, dtype: Any) -> Any:
    """Converts a parameter to the dtype of the samples."""
    return lax.convert_element_type(value, dtype)


def in_rank_of(value: Any, shape: tuple[int, ...]) -> Any:
    """Returns a parameter with as many dimensions as the samples, unless it is a scalar."""
    missing = len(shape) - np.ndim(value)
    return lax.expand_dims(value, tuple(range(missing))) if missing and np.ndim(value) else value


def broadcast_parameter(value: Any, shape: tuple[int, ...]) -> Any:
    """Broadcasts a parameter to the shape of the samples."""
    ndim = np.ndim(value)
    if np.shape(value) == shape:
        return value
    return lax.broadcast_in_dim(value, shape, tuple(range(len(shape) - ndim, len(shape))))


def broadcast_array(value: Any, shape: tuple[int, ...]) -> Any:
    """Broadcasts a parameter to the shape of the samples; scalars stay scalars."""
    return value if not np.shape(value) else broadcast_parameter(value, shape)
