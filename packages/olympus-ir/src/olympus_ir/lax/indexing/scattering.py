# SPDX-License-Identifier: Apache-2.0
"""Scattering updates to computed positions of an array."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...diagnostics.debug_info import DebugInfo
from ...diagnostics.errors import ShapeError
from ...programs.olympuspr import Olympuspr, olympusprs_in_params
from ...programs.primitives import Primitive, instruction
from ...programs.staging import trace_to_olympuspr
from ...types import dtypes
from ...types.avals import ShapedArray
from ..core.declarations import check_same_dtypes
from ..core.values import Array, ArrayLike, dtype_of
from ..elementwise import arithmetic
from ..shaping.creation import full
from .gathering import (
    GatherScatterMode,
    check_batching,
    check_index_vectors,
    check_sorted_dimensions,
    promise,
)

__all__ = [
    "ScatterDimensionNumbers",
    "scatter",
    "scatter_add",
    "scatter_add_p",
    "scatter_apply",
    "scatter_max",
    "scatter_max_p",
    "scatter_min",
    "scatter_min_p",
    "scatter_mul",
    "scatter_mul_p",
    "scatter_p",
    "scatter_sub",
    "scatter_sub_p",
]


class ScatterDimensionNumbers(NamedTuple):
    """Roles of the dimensions of `scatter`'s operands.

    Attributes:
      update_window_dims: the dimensions of the updates that are dimensions of a window.
      inserted_window_dims: the operand's dimensions in which windows have size one. The updates
        omit these dimensions.
      scatter_dims_to_operand_dims: for each component of an index vector, the operand's dimension
        that the component indexes.
      operand_batching_dims: the operand's dimensions that are also batch dimensions of the indices;
        the updates omit these dimensions.
      scatter_indices_batching_dims: the corresponding dimensions of the indices.
    """

    update_window_dims: tuple[int, ...]
    inserted_window_dims: tuple[int, ...]
    scatter_dims_to_operand_dims: tuple[int, ...]
    operand_batching_dims: tuple[int, ...] = ()
    scatter_indices_batching_dims: tuple[int, ...] = ()


_SCATTER_NAMES = (
    "inserted_window_dims",
    "scatter_dims_to_operand_dims",
    "scatter_indices_batching_dims",
)


def _scatter_shape(
    name: str,
    operand: ShapedArray,
    indices: ShapedArray,
    updates: ShapedArray,
    *,
    update_jaxpr: Olympuspr | None,
    update_consts: tuple,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: GatherScatterMode,
) -> ShapedArray:
    numbers = dimension_numbers
    check_same_dtypes(name, (operand, updates))
    # Error messages use the name "scatter" for all variants.
    op = "scatter"
    window_dims, inserted = numbers.update_window_dims, numbers.inserted_window_dims
    check_sorted_dimensions(op, "update_window_dims", window_dims, updates.ndim)
    check_sorted_dimensions(op, "inserted_window_dims", inserted, operand.ndim)
    check_batching(op, operand, indices, numbers, _SCATTER_NAMES)
    mapping = numbers.scatter_dims_to_operand_dims
    check_index_vectors(op, operand, indices, mapping, "scatter_dims_to_operand_dims")
    expected_ndim = indices.ndim - 1 + len(window_dims)
    if updates.ndim != expected_ndim:
        raise ShapeError(
            f"Updates tensor must be of rank {expected_ndim}; got {updates.ndim}. That is for "
            f"indices of shape {indices.shape} and update_window_dims {window_dims}."
        )
    removed = {*inserted, *numbers.operand_batching_dims}
    size = len(window_dims) + len(removed)
    if size != operand.ndim:
        raise ShapeError(
            f"Scatter op has window of size {size}; doesn't match operand of rank {operand.ndim}."
        )
    bounds = [size for dimension, size in enumerate(operand.shape) if dimension not in removed]
    window = [updates.shape[dimension] for dimension in window_dims]
    if any(map(operator.gt, window, bounds)):
        raise ShapeError(
            "Bounds of the window dimensions of updates must not exceed the bounds of the "
            f"corresponding dimensions of operand; got {window} and {bounds}."
        )
    batch = [size for dimension, size in enumerate(updates.shape) if dimension not in window_dims]
    if batch != list(indices.shape[:-1]):
        raise ShapeError(
            "Bounds of the scatter dimensions of updates must be the same as the bounds of the "
            f"corresponding dimensions of scatter indices; got {batch} and "
            f"{list(indices.shape[:-1])}."
        )
    varying = operand.vma | indices.vma | updates.vma
    return ShapedArray.varying(operand.shape, operand.dtype, operand.weak_type, vma=varying)


def _scatter_primitive(name: str, linear_in: tuple[int, ...] = ()) -> Primitive:
    primitive = instruction(name, family="indexing")
    primitive.linear_in = linear_in
    primitive.def_abstract_eval(functools.partial(_scatter_shape, name))
    return primitive


scatter_p = _scatter_primitive("scatter", (0, 2))
scatter_add_p = _scatter_primitive("scatter-add", (0, 2))
scatter_sub_p = _scatter_primitive("scatter-sub", (0, 2))
scatter_mul_p = _scatter_primitive("scatter-mul", (0,))
scatter_min_p = _scatter_primitive("scatter-min")
scatter_max_p = _scatter_primitive("scatter-max")


def _update_program(computation: Callable[..., Any], dtype: Any) -> tuple[Olympuspr, tuple]:
    """Returns the program of a binary function of scalars, and its constants."""
    aval = ShapedArray((), dtype)
    program, constants = trace_to_olympuspr(
        lambda x, y: [computation(x, y)], [aval, aval], DebugInfo.of("scatter", computation)
    )
    return program, tuple(constants)


# XLA aborts the process if a scatter's function calls code outside the program.
_CALLING_OUTSIDE = ("callbacks", "buffer_callbacks", "ffi", "linalg", "export")


def _check_user_program(program: Olympuspr, dtype: Any) -> None:
    """Raises ValueError if a scatter cannot apply the program of a user's function."""
    (result,) = program.out_avals
    if result.shape or result.dtype != dtype:
        raise ValueError(
            "the function of a scatter must return an element of the operand's dtype "
            f"{dtypes.name_of(dtype)}, got {result.str_short()}"
        )
    if program.effects or _calls_outside(program):
        raise ValueError(
            "the function of a scatter may not have effects or call code outside of the program, "
            "such as Python functions, foreign functions and routines of linear algebra"
        )


def _calls_outside(program: Any) -> bool:
    return any(
        equation.primitive.family in _CALLING_OUTSIDE
        or any(map(_calls_outside, olympusprs_in_params(equation.params)))
        for equation in program.eqns
    )


# Only programs of lax operations are cached. Cached programs of user functions would keep captured
# values alive.
_program_of_operation = functools.cache(_update_program)


def _scatter(
    primitive: Primitive,
    computation: Callable[..., Any] | None,
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    indices_are_sorted: bool,
    unique_indices: bool,
    mode: str | GatherScatterMode | None,
) -> Array:
    if computation is None:
        update_jaxpr, update_consts = None, ()
    else:
        trace = _update_program if primitive is scatter_p else _program_of_operation
        update_jaxpr, update_consts = trace(computation, dtype_of(operand))
        if primitive is scatter_p:
            _check_user_program(update_jaxpr, dtype_of(operand))
    return primitive.bind(
        operand,
        scatter_indices,
        updates,
        update_jaxpr=update_jaxpr,
        update_consts=update_consts,
        dimension_numbers=dimension_numbers,
        indices_are_sorted=promise("indices_are_sorted", indices_are_sorted),
        unique_indices=promise("unique_indices", unique_indices),
        mode=GatherScatterMode.from_any(mode),
    )


def scatter(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """Replaces windows at the positions given by index vectors.

    Where windows overlap, it is unspecified which update is used.

    Args:
      operand: an array.
      scatter_indices: integers; the last dimension holds index vectors.
      updates: the windows, of the operand's dtype.
      dimension_numbers: the correspondence of dimensions.
      indices_are_sorted: a promise that index vectors are in lexicographic order.
      unique_indices: a promise that no two windows overlap.
      mode: the treatment of windows that extend beyond the operand: ``"drop"`` (the default),
        ``"clip"`` or ``"promise_in_bounds"``.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ShapeError: if ``dimension_numbers`` do not fit the shapes.
      TypeError: if operand and updates differ in dtype.
      ValueError: if the indices are not integers or ``mode`` is unknown.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter(np.zeros(3), np.array([[2], [0]]), np.array([5.0, 6.0]), numbers)
      Array([6., 0., 5.], dtype=float32)
    """
    return _scatter(
        scatter_p,
        None,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_add(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """Adds updates to the elements at the positions given by index vectors.

    Where windows overlap, all their updates are combined.

    Args:
      operand: as in `scatter`.
      scatter_indices: as in `scatter`.
      updates: as in `scatter`.
      dimension_numbers: as in `scatter`.
      indices_are_sorted: as in `scatter`.
      unique_indices: as in `scatter`.
      mode: as in `scatter`.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_add(np.arange(3), np.array([[1], [1]]), np.array([5, 6]), numbers)
      Array([ 0, 12,  2], dtype=int32)
    """
    return _scatter(
        scatter_add_p,
        arithmetic.add,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_sub(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """Subtracts updates from the elements at the positions given by index vectors.

    Where windows overlap, all their updates are combined.

    Args:
      operand: as in `scatter`.
      scatter_indices: as in `scatter`.
      updates: as in `scatter`.
      dimension_numbers: as in `scatter`.
      indices_are_sorted: as in `scatter`.
      unique_indices: as in `scatter`.
      mode: as in `scatter`.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_sub(np.arange(3), np.array([[1], [1]]), np.array([5, 6]), numbers)
      Array([  0, -10,   2], dtype=int32)
    """
    return _scatter(
        scatter_sub_p,
        arithmetic.sub,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_mul(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """Multiplies the elements at the positions given by index vectors by updates.

    Where windows overlap, all their updates are combined.

    Args:
      operand: as in `scatter`.
      scatter_indices: as in `scatter`.
      updates: as in `scatter`.
      dimension_numbers: as in `scatter`.
      indices_are_sorted: as in `scatter`.
      unique_indices: as in `scatter`.
      mode: as in `scatter`.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_mul(np.arange(3), np.array([[1], [1]]), np.array([5, 6]), numbers)
      Array([ 0, 30,  2], dtype=int32)
    """
    return _scatter(
        scatter_mul_p,
        arithmetic.mul,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_min(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """Replaces elements at positions given by index vectors by the minimum of element and update.

    Where windows overlap, all their updates are combined.

    Args:
      operand: as in `scatter`.
      scatter_indices: as in `scatter`.
      updates: as in `scatter`.
      dimension_numbers: as in `scatter`.
      indices_are_sorted: as in `scatter`.
      unique_indices: as in `scatter`.
      mode: as in `scatter`.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_min(np.arange(3), np.array([[1], [1]]), np.array([5, 6]), numbers)
      Array([0, 1, 2], dtype=int32)
    """
    return _scatter(
        scatter_min_p,
        arithmetic.min,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_max(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    updates: ArrayLike,
    dimension_numbers: ScatterDimensionNumbers,
    *,
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """Replaces elements at positions given by index vectors by the maximum of element and update.

    Where windows overlap, all their updates are combined.

    Args:
      operand: as in `scatter`.
      scatter_indices: as in `scatter`.
      updates: as in `scatter`.
      dimension_numbers: as in `scatter`.
      indices_are_sorted: as in `scatter`.
      unique_indices: as in `scatter`.
      mode: as in `scatter`.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_max(np.arange(3), np.array([[1], [1]]), np.array([5, 6]), numbers)
      Array([0, 6, 2], dtype=int32)
    """
    return _scatter(
        scatter_max_p,
        arithmetic.max,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )


def scatter_apply(
    operand: ArrayLike,
    scatter_indices: ArrayLike,
    func: Callable[[Array], Array],
    dimension_numbers: ScatterDimensionNumbers,
    *,
    update_shape: Sequence[int] = (),
    indices_are_sorted: bool = False,
    unique_indices: bool = False,
    mode: str | GatherScatterMode | None = None,
) -> Array:
    """Applies a function to the elements at the positions given by index vectors.

    Args:
      operand: an array.
      scatter_indices: integers; the last dimension holds index vectors.
      func: a function of one element. An element is mapped once for each window that covers it.
      dimension_numbers: the correspondence of dimensions.
      update_shape: the shape that the updates of a `scatter` with these arguments would have.
      indices_are_sorted: as in `scatter`.
      unique_indices: as in `scatter`.
      mode: as in `scatter`.

    Returns:
      An array of the operand's shape and dtype.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
      >>> lax.scatter_apply(np.arange(3), np.array([1]), lax.neg, numbers)
      Array([ 0, -1,  2], dtype=int32)
    """

    def apply(x: Any, y: Any) -> Any:
        return func(x)

    updates = full(update_shape, 0, dtype_of(operand))
    return _scatter(
        scatter_p,
        apply,
        operand,
        scatter_indices,
        updates,
        dimension_numbers,
        indices_are_sorted,
        unique_indices,
        mode,
    )
