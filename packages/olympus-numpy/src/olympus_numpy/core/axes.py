# SPDX-License-Identifier: Apache-2.0
"""Checks of arguments that many functions share: axes, dtypes, and the unsupported ``out``."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.lax.core.axes import canonical_axis
from olympus_ir.programs.tracing import Tracer, concrete_or_error
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array

__all__ = [
    "canonical_axes",
    "canonical_axis",
    "hashable_axes",
    "hashable_axis",
    "named_axes",
    "refuse_out",
    "requested_dtype",
    "unique_axes",
]


def canonical_axes(axis: Any, ndim: int) -> tuple[int, ...]:
    """Returns the axes that an argument names; the argument None names all axes."""
    if axis is None:
        return tuple(range(ndim))
    if isinstance(axis, tuple | list):
        return unique_axes(axis, ndim)
    return (canonical_axis(axis, ndim),)


def unique_axes(axes: Sequence[Any], ndim: int) -> tuple[int, ...]:
    """Returns the nonnegative forms of several axes, in the given order.

    Raises:
      ShapeError: if an axis is repeated.
    """
    result = tuple(canonical_axis(axis, ndim) for axis in axes)
    if len(set(result)) != len(result):
        raise ShapeError(f"duplicate value in 'axis': {tuple(axes)} has a repeated axis")
    return result


class AxisNameError(NameError, TypeError):
    """Error for a name in place of an axis, in functions that take no named axes.

    It is both a NameError and a TypeError, because some functions of JAX raise a NameError for such
    a name, and others raise a TypeError.
    """


def named_axes(axis: Any, ndim: int) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Separates an argument that `hashable_axes` returned into dimensions and names of axes.

    Args:
      axis: the argument; None names all dimensions.
      ndim: the number of dimensions.

    Returns:
      The dimensions, and the names of axes of `vmap` or of a mesh.
    """
    if axis is None or axis.__class__ is int:
        return canonical_axes(axis, ndim), ()
    parts = axis if isinstance(axis, tuple) else (axis,)
    names = tuple(part for part in parts if isinstance(part, str))
    return unique_axes([part for part in parts if not isinstance(part, str)], ndim), names


def hashable_axis(function: str, axis: Any) -> int:
    """Returns an axis as a Python integer, for a static argument of a compiled function."""
    if axis.__class__ is int:
        return axis
    return _integer(function, axis)


def hashable_axes(function: str, axis: Any, names: bool = False) -> Any:
    """Returns an axis argument (None, one axis or several) as a hashable static argument.

    Args:
      function: the name of the function, for messages.
      axis: the argument.
      names: whether the function takes names of axes as well.
    """
    if axis is None or axis.__class__ is int or (names and axis.__class__ is str):
        return axis
    if isinstance(axis, tuple | list) or (hasattr(axis, "__iter__") and np.ndim(axis)):
        return tuple(
            dim if names and isinstance(dim, str) else _integer(function, dim) for dim in axis
        )
    return _integer(function, axis)


def _integer(function: str, axis: Any) -> int:
    if isinstance(axis, Tracer):
        axis = concrete_or_error(None, axis, f"axis argument to olympus.numpy.{function}().")
    try:
        return operator.index(axis)
    except TypeError:
        if isinstance(axis, str):
            raise AxisNameError(
                f"{function} got the axis name {axis!r}: to reduce over a named axis, use "
                "olympus.lax.psum, pmax, pmin or pmean."
            ) from None
        advice = ""
        if isinstance(axis, np.ndarray | Array) and axis.ndim:
            advice = f". Pass several arrays as one sequence: {function}([x, y])"
        raise TypeError(
            f"{function}: `axis` must be an integer, a tuple of integers or None, got "
            f"{axis!r}{advice}"
        ) from None


def requested_dtype(function: str, dtype: Any) -> Any:
    """Returns the canonical form of the dtype that the caller of a public function requests."""
    return dtypes.check_and_canonicalize_user_dtype(dtype, function)


def refuse_out(function: str) -> NoReturn:
    """Raises NotImplementedError: arrays are immutable, so no function writes into one."""
    raise NotImplementedError(f"The 'out' argument to jnp.{function} is not supported.")
