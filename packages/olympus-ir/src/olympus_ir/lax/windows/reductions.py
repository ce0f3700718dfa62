# SPDX-License-Identifier: Apache-2.0
"""Reductions of the windows of arrays, and the operations in their derivatives."""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...diagnostics.errors import ShapeError
from ...diagnostics.traceback_filtering import behind_boundary
from ...programs.olympuspr import ClosedOlympuspr
from ...programs.primitives import Primitive, instruction
from ...programs.tracing import Tracer, is_constant_dim
from ...trees import pytrees
from ...types import dtypes
from ...types.annotations import PyTree
from ...types.avals import ShapedArray
from ..core.combining_functions import traced_function, traced_reduction
from ..core.declarations import Anything, check_dtype
from ..core.values import Array, ArrayLike, array_aval, cast, dtype_of, shape_of
from ..elementwise import arithmetic
from ..elementwise.conversion import convert_dtype
from ..reductions import highest, lowest
from .shapes import (
    check_positive,
    dilated_size,
    integer_pairs,
    integers,
    padtype_to_pads,
    window_counts,
)

__all__ = [
    "reduce_window",
    "reduce_window_max_p",
    "reduce_window_min_p",
    "reduce_window_p",
    "reduce_window_shape_tuple",
    "reduce_window_sum_p",
    "select_and_gather_add_p",
    "select_and_scatter_add_p",
    "select_and_scatter_p",
]

reduce_window_p = instruction(
    "reduce_window", family="windows", multiple_results=True, cache_inference=False
)
reduce_window_sum_p = instruction("reduce_window_sum", family="windows")
reduce_window_max_p = instruction("reduce_window_max", family="windows")
reduce_window_min_p = instruction("reduce_window_min", family="windows")
select_and_scatter_p = instruction("select_and_scatter", family="windows", cache_inference=False)
select_and_scatter_add_p = instruction("select_and_scatter_add", family="windows")
select_and_gather_add_p = instruction("select_and_gather_add", family="windows")
reduce_window_sum_p.linear_in = True
select_and_scatter_add_p.linear_in = (0,)
select_and_gather_add_p.linear_in = (0,)

# ---- shapes ----


# The largest number of window elements. No program computes more in reasonable time, and the
# compiler hangs on numbers of more than 63 bits.
_MOST_ELEMENTS = 2**40


def _window_shape(
    name: str,
    shape: tuple[int, ...],
    window_dimensions: tuple,
    window_strides: tuple,
    padding: tuple,
    base_dilation: tuple,
    window_dilation: tuple,
) -> tuple[int, ...]:
    """Checks the parameters and returns the number of windows along each dimension."""
    if len(window_dimensions) != len(shape):
        raise ShapeError(
            f"{name} got the wrong number of window_dimensions for operand: got operand shape "
            f"{shape} with window_dimensions {window_dimensions}."
        )
    for parameter, values in (
        ("window_strides", window_strides),
        ("padding", padding),
        ("base_dilation", base_dilation),
        ("window_dilation", window_dilation),
    ):
        if len(values) != len(window_dimensions):
            raise TypeError(
                f"{name} got inconsistent {parameter} and window_dimensions: got {parameter} "
                f"{values} and window_dimensions {window_dimensions}."
            )
    for parameter, values in (
        ("window_dimensions", window_dimensions),
        ("window_strides", window_strides),
        ("base_dilation", base_dilation),
        ("window_dilation", window_dilation),
    ):
        check_positive(name, parameter, values)
    for size, dilation, (low, high) in zip(shape, base_dilation, padding, strict=True):
        if dilated_size(size, dilation) + low + high < 0:
            raise ValueError(
                f"{name}: negative padding is larger than the size of the corresponding dimension: "
                f"got padding={padding} for operand shape {shape} and base_dilation {base_dilation}"
            )
    if all(map(is_constant_dim, window_dimensions)):
        elements = math.prod(window_dimensions)
        if elements > _MOST_ELEMENTS:
            raise OverflowError(
                f"{name}: a window of window_dimensions={window_dimensions} has {elements} "
                f"elements, and at most {_MOST_ELEMENTS} can be reduced"
            )
    return window_counts(
        shape, window_dimensions, window_strides, padding, base_dilation, window_dilation
    )


@reduce_window_p.def_abstract_eval
def _reduce_window_shape(
    *avals: ShapedArray, jaxpr: ClosedOlympuspr, consts: tuple, **window: Any
) -> list[ShapedArray]:
    operands, init_values = avals[: len(avals) // 2], avals[len(avals) // 2 :]
    if any(operand.shape != operands[0].shape for operand in operands):
        raise ShapeError(
            "the operands of reduce_window must have the same shape, got "
            + ", ".join(str(operand.shape) for operand in operands)
        )
    if any(init_value.shape for init_value in init_values):
        raise TypeError(
            "reduce_window expected init_values to be scalars but init_values have shapes "
            f"{[init_value.shape for init_value in init_values]}."
        )
    if any(x.dtype != init.dtype for x, init in zip(operands, init_values, strict=True)):
        raise TypeError(
            "reduce_window got inconsistent dtypes for operands and init_values: got operand "
            f"dtypes {[dtypes.name_of(operand.dtype) for operand in operands]} and init_value "
            f"dtypes {[dtypes.name_of(init_value.dtype) for init_value in init_values]}."
        )
    shape = _window_shape("reduce_window", operands[0].shape, **window)
    return [
        ShapedArray.varying(shape, x.dtype, x.weak_type and init.weak_type, vma=x.vma | init.vma)
        for x, init in zip(operands, init_values, strict=True)
    ]


def _define_window_reduction(primitive: Primitive, accepted: Sequence[type]) -> None:
    name = primitive.name

    @primitive.def_abstract_eval
    def shape_rule(operand: ShapedArray, **window: Any) -> ShapedArray:
        check_dtype(name, operand, accepted)
        shape = _window_shape(name, operand.shape, **window)
        return ShapedArray.varying(shape, operand.dtype, operand.weak_type, vma=operand.vma)


_define_window_reduction(reduce_window_sum_p, (np.number,))
_define_window_reduction(reduce_window_max_p, Anything)
_define_window_reduction(reduce_window_min_p, Anything)


def _check_source(
    name: str,
    operand: ShapedArray,
    source: ShapedArray,
    window_dimensions: tuple,
    window_strides: tuple,
    padding: tuple,
) -> None:
    """Checks that the source has one element for each window of the operand."""
    ones = (1,) * operand.ndim
    shape = _window_shape(
        name, operand.shape, window_dimensions, window_strides, padding, ones, ones
    )
    if source.shape != shape:
        raise ShapeError(
            f"{name} needs one element of the source for each window of the operand: got source "
            f"shape {source.shape}, where an operand of shape {operand.shape} has windows {shape}"
        )
    if source.dtype != operand.dtype:
        raise TypeError(
            f"{name} requires operand and source of the same dtypes, got "
            f"{dtypes.name_of(operand.dtype)} and {dtypes.name_of(source.dtype)}"
        )


@select_and_scatter_p.def_abstract_eval
def _select_and_scatter_shape(
    operand: ShapedArray,
    source: ShapedArray,
    init_value: ShapedArray,
    *,
    select_jaxpr: ClosedOlympuspr,
    select_consts: tuple,
    scatter_jaxpr: ClosedOlympuspr,
    scatter_consts: tuple,
    **window: Any,
) -> ShapedArray:
    name = "select_and_scatter"
    _check_source(name, operand, source, **window)
    if init_value.shape or init_value.dtype != operand.dtype:
        raise TypeError(
            f"{name} requires an init_value that is a scalar of the operand's dtype, got "
            f"{init_value.str_short()} for {operand.str_short()}"
        )
    return ShapedArray.varying(operand.shape, operand.dtype, vma=operand.vma | source.vma)


@select_and_scatter_add_p.def_abstract_eval
def _select_and_scatter_add_shape(
    source: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **window: Any
) -> ShapedArray:
    _check_source("select_and_scatter_add", operand, source, **window)
    return ShapedArray.varying(operand.shape, operand.dtype, vma=operand.vma | source.vma)


@select_and_gather_add_p.def_abstract_eval
def _select_and_gather_add_shape(
    tangents: ShapedArray, operand: ShapedArray, *, select_prim: Primitive, **window: Any
) -> ShapedArray:
    name = "select_and_gather_add"
    if tangents.shape != operand.shape or tangents.dtype != operand.dtype:
        raise ShapeError(
            f"{name} tangents and operand must have the same shape and dtype, got "
            f"{tangents.str_short()} and {operand.str_short()}"
        )
    shape = _window_shape(name, operand.shape, **window)
    return ShapedArray.varying(shape, operand.dtype, vma=operand.vma | tangents.vma)


def reduce_window_shape_tuple(
    operand_shape: Sequence[int],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> tuple[int, ...]:
    """Returns the shape of the result of `reduce_window`.

    Args:
      operand_shape: the shape of the operand.
      window_dimensions: the sizes of the window.
      window_strides: the distance between windows in each dimension.
      padding: a pair (before, after) for each dimension.
      base_dilation: the distance between neighboring elements of the operand.
      window_dilation: the distance between neighboring elements of a window.

    Returns:
      A tuple of integers.

    Example:
      >>> from olympus_ir import lax
      >>> lax.reduce_window_shape_tuple((8, 9), (3, 3), (1, 2), ((1, 1), (0, 1)))
      (8, 4)
    """
    ones = (1,) * len(operand_shape)
    return _window_shape(
        "reduce_window",
        tuple(operand_shape),
        tuple(window_dimensions),
        tuple(window_strides),
        integer_pairs("reduce_window", padding),
        ones if base_dilation is None else tuple(base_dilation),
        ones if window_dilation is None else tuple(window_dilation),
    )


# ---- reductions ----


def reduce_window(
    operand: ArrayLike,
    init_value: ArrayLike,
    computation: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int] | None = None,
    padding: str | Sequence[tuple[int, int]] = "VALID",
    base_dilation: Sequence[int] | None = None,
    window_dilation: Sequence[int] | None = None,
) -> PyTree:
    """Reduces each window of one or more arrays by a binary function.

    Args:
      operand: an array, or a pytree of arrays of the same shape.
      init_value: the neutral elements, scalars in the same structure, which also fill the padding.
      computation: an associative function of two scalars, or of two pytrees of scalars.
      window_dimensions: the sizes of the window.
      window_strides: the distance between windows in each dimension; 1 if not given.
      padding: ``"SAME"``, ``"SAME_LOWER"``, ``"VALID"`` or a pair (before, after) for each
        dimension.
      base_dilation: the distance between neighboring elements of the operand, with neutral
        elements between them.
      window_dilation: the distance between neighboring elements of a window.

    Returns:
      One element for each window, in the structure of ``operand``. A sum or extremum whose initial
      value is its neutral element is recorded as `reduce_window_sum` and so on. Results can be
      differentiated in both modes and to any order.

    Raises:
      ShapeError: if the operands differ in shape or ``window_dimensions`` does not match their
        rank.
      TypeError: if parameters differ in length, initial values are not scalars, or dtypes differ.
      ValueError: if structures differ or there are no operands.

    Example:
      >>> from olympus_ir import lax
      >>> import numpy as np
      >>> lax.reduce_window(np.array([1.0, 3.0, 2.0, 0.0]), -np.inf, lax.max, (2,), (2,))
      Array([3., 2.], dtype=float32)
    """
    name = "reduce_window"
    operands, tree = pytrees.tree_flatten(operand)
    init_values, init_tree = pytrees.tree_flatten(init_value)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    if not operands:
        raise ValueError("reduce_window must have at least one operand.")
    shape = shape_of(operands[0])
    ones = (1,) * len(shape)
    sizes = integers(name, "window_dimensions", window_dimensions)
    strides = integers(name, "window_strides", ones if window_strides is None else window_strides)
    base = integers(name, "base_dilation", ones if base_dilation is None else base_dilation)
    spread = integers(name, "window_dilation", ones if window_dilation is None else window_dilation)
    check_positive(name, "window_strides", strides)
    if isinstance(padding, str):
        windows = [dilated_size(size, dilation) for size, dilation in zip(sizes, spread)]
        pads = tuple(padtype_to_pads(shape, windows, strides, padding))
    else:
        pads = integer_pairs(name, padding)
    window = {
        "window_dimensions": sizes,
        "window_strides": strides,
        "padding": pads,
        "base_dilation": base,
        "window_dilation": spread,
    }
    if len(operands) == 1:
        monoid = _monoid_reduction(computation, operands[0], init_values[0])
        if monoid is not None:
            return pytrees.tree_unflatten(tree, [monoid.bind(operands[0], **window)])
    init_values = [_as_element(init, dtype_of(x)) for init, x in zip(init_values, operands)]
    closed = traced_reduction(name, computation, operand, init_values)
    results = reduce_window_p.bind(*operands, *init_values, jaxpr=closed, consts=(), **window)
    return pytrees.tree_unflatten(tree, results)


def _as_element(init_value: Any, dtype: Any) -> Any:
    """Converts a Python number to the operand's dtype, if the dtype can hold it."""
    if not dtypes.is_python_scalar(init_value):
        return init_value
    if not isinstance(init_value, int) and not dtypes.issubdtype(dtype, np.inexact):
        raise TypeError(
            "reduce_window requires operands and init_values of the same dtypes, got "
            f"{dtypes.name_of(dtype)} and the initial value {init_value!r}"
        )
    return convert_dtype(init_value, dtype)


def _monoid_reduction(computation: Any, operand: Any, init_value: Any) -> Primitive | None:
    """Returns the primitive that reduces windows, such as ``reduce_window_sum_p``.

    Returns None unless ``computation`` is an operation with such a primitive, and ``init_value`` is
    the neutral element of the operation.
    """
    computation = behind_boundary(computation)
    found = _monoids.get(computation) if isinstance(computation, types.FunctionType) else None
    if found is None or isinstance(init_value, Tracer) or shape_of(init_value):
        return None
    primitive, neutral_element, infinity = found
    dtype = dtype_of(operand)
    if dtypes.is_extended(dtype) or (
        primitive is not reduce_window_sum_p and dtypes.issubdtype(dtype, np.complexfloating)
    ):
        return None
    value = np.asarray(init_value)
    if value == infinity:
        return primitive
    if not dtypes.issubdtype(dtype, np.inexact) and value % 1 != 0:
        return None  # the dtype would truncate the number
    if cast(value, dtype) == np.asarray(neutral_element(dtype)).astype(dtype):
        return primitive
    return None


# Maps each function to its primitive, a function from a dtype to the neutral element, and a number
# that is neutral for every dtype.
_monoids: dict[Any, tuple[Primitive, Callable[[Any], Any], float]] = {
    arithmetic.add: (reduce_window_sum_p, lambda dtype: 0, 0.0),
    arithmetic.max: (reduce_window_max_p, lowest, -np.inf),
    arithmetic.min: (reduce_window_min_p, highest, np.inf),
}


# ---- selections ----


def select_and_scatter(
    operand: ArrayLike,
    select: Callable[[Any, Any], Any],
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    source: ArrayLike,
    init_value: ArrayLike,
    scatter: Callable[[Any, Any], Any],
) -> Array:
    """Selects one element of each window, and scatters the source to the selected positions.

    Args:
      operand: the array whose windows are compared.
      select: a function of the element selected so far and another element; it returns whether the
        first element stays selected.
      window_dimensions: the sizes of the window.
      window_strides: the distance between windows in each dimension.
      padding: a pair (before, after) for each dimension; elements of the padding are never
        selected.
      source: one element for each window.
      init_value: the value of elements that are not selected, a scalar.
      scatter: an associative and commutative function that combines elements at one position.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      TypeError: if ``select`` does not return one boolean scalar, or dtypes differ.
      ShapeError: if ``source`` does not have one element for each window.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_ir.lax.windows.reductions import select_and_scatter
      >>> import numpy as np
      >>> x, source = np.array([1.0, 3.0, 2.0]), np.array([10.0, 20.0])
      >>> select_and_scatter(x, lax.ge, (2,), (1,), ((0, 0),), source, 0.0, lax.add)
      Array([ 0., 30.,  0.], dtype=float32)
    """
    name = "select_and_scatter"
    dtype = dtype_of(operand)
    if dtypes.is_python_scalar(init_value):
        init_value = convert_dtype(init_value, dtype)
    in_tree = pytrees.tree_structure(((operand, operand), {}))
    weak = array_aval(operand).weak_type
    selection, _ = traced_function(name, select, [ShapedArray((), dtype, weak)] * 2, in_tree)
    if [aval.str_short() for aval in selection.out_avals] != ["bool[]"]:
        raise TypeError(
            "the select function of select_and_scatter must return one boolean scalar, got "
            f"{[aval.str_short() for aval in selection.out_avals]}"
        )
    combination = traced_reduction(name, scatter, source, [init_value])
    return select_and_scatter_p.bind(
        operand,
        source,
        init_value,
        select_jaxpr=selection,
        select_consts=(),
        scatter_jaxpr=combination,
        scatter_consts=(),
        window_dimensions=integers(name, "window_dimensions", window_dimensions),
        window_strides=integers(name, "window_strides", window_strides),
        padding=integer_pairs(name, padding),
    )


def select_and_scatter_add(
    source: ArrayLike,
    operand: ArrayLike,
    select_prim: Primitive,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Array:
    """Adds the source's elements at the positions of the extrema of the operand's windows.

    Args:
      source: one element for each window.
      operand: the array whose windows are compared.
      select_prim: ``ge_p`` for the first maximum, ``le_p`` for the first minimum.
      window_dimensions: the sizes of the window.
      window_strides: the distance between windows in each dimension.
      padding: a pair (before, after) for each dimension.

    Returns:
      An array of the operand's shape and dtype.

    Raises:
      ShapeError: if ``source`` does not have one element for each window.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_ir.lax.windows.reductions import select_and_scatter_add
      >>> import numpy as np
      >>> x, source = np.array([1.0, 3.0, 2.0]), np.array([10.0, 20.0])
      >>> select_and_scatter_add(source, x, lax.ge_p, (2,), (1,), ((0, 0),))
      Array([ 0., 30.,  0.], dtype=float32)
    """
    name = "select_and_scatter_add"
    return select_and_scatter_add_p.bind(
        source,
        operand,
        select_prim=select_prim,
        window_dimensions=integers(name, "window_dimensions", window_dimensions),
        window_strides=integers(name, "window_strides", window_strides),
        padding=integer_pairs(name, padding),
    )


def select_and_gather_add(
    tangents: ArrayLike,
    operand: ArrayLike,
    select_prim: Primitive,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
) -> Array:
    """Returns elements of one array at the positions of the window extrema of another array.

    Args:
      tangents: the array whose elements are returned.
      operand: the array whose windows are compared, of the same shape and dtype.
      select_prim: ``ge_p`` for the first maximum, ``le_p`` for the first minimum.
      window_dimensions: the sizes of the window.
      window_strides: the distance between windows in each dimension.
      padding: a pair (before, after) for each dimension.
      base_dilation: the distance between neighboring elements of the operand.
      window_dilation: the distance between neighboring elements of a window.

    Returns:
      An array with one element for each window.

    Raises:
      ShapeError: if the arrays differ in shape or dtype.

    Example:
      >>> from olympus_ir import lax
      >>> from olympus_ir.lax.windows.reductions import select_and_gather_add
      >>> import numpy as np
      >>> x, tangents = np.array([1.0, 3.0, 2.0]), np.array([10.0, 20.0, 30.0])
      >>> select_and_gather_add(tangents, x, lax.ge_p, (2,), (1,), ((0, 0),), (1,), (1,))
      Array([20., 20.], dtype=float32)
    """
    name = "select_and_gather_add"
    return select_and_gather_add_p.bind(
        tangents,
        operand,
        select_prim=select_prim,
        window_dimensions=integers(name, "window_dimensions", window_dimensions),
        window_strides=integers(name, "window_strides", window_strides),
        padding=integer_pairs(name, padding),
        base_dilation=integers(name, "base_dilation", base_dilation),
        window_dilation=integers(name, "window_dilation", window_dilation),
    )
