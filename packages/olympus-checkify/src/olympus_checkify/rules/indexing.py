# SPDX-License-Identifier: Apache-2.0
"""Checks of slices, gathers and scatters: indices out of bounds."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.olympuspr import Equation, Literal
from olympus_ir.types.avals import get_aval

from ..errors import Error, OOBError, Site
from ..tables import Enabled, Outcome, error_rules
from .checked_results import any_of, found, with_nan_check


class Windows(NamedTuple):
    """The part of an operand that an operation reads or writes, at positions given by indices.

    Attributes:
      axes: the axes of the operand that are indexed.
      sizes: the sizes of the windows along these axes.
      starts: the operands with the starts: one scalar for each axis, or one array whose last
        dimension has an element for each axis.
    """

    axes: Sequence[int]
    sizes: Sequence[int]
    starts: slice


def _windows_of(equation: Equation) -> Windows:
    """Returns the windows of a slice, gather or scatter."""
    primitive, params = equation.primitive, equation.params
    if primitive is lax.dynamic_slice_p:
        sizes = params["slice_sizes"]
        return Windows(range(len(sizes)), sizes, slice(1, None))
    if primitive is lax.dynamic_update_slice_p:
        sizes = equation.invars[1].aval.shape
        return Windows(range(len(sizes)), sizes, slice(2, None))
    numbers = params["dimension_numbers"]
    if primitive is lax.gather_p:
        axes = numbers.start_index_map
        return Windows(axes, [params["slice_sizes"][axis] for axis in axes], slice(1, 2))
    updates = equation.invars[2].aval.shape
    windows = iter(updates[dim] for dim in numbers.update_window_dims)
    whole = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    ndim = len(equation.invars[0].aval.shape)
    window_of_axis = [1 if axis in whole else next(windows) for axis in range(ndim)]
    axes = numbers.scatter_dims_to_operand_dims
    return Windows(axes, [window_of_axis[axis] for axis in axes], slice(1, 2))


def may_leave_bounds(equation: Equation) -> bool:
    """Returns whether an equation has indices that may be out of bounds."""
    if error_rules.find(equation.primitive) not in (_read, _written):
        return False
    axes, _, starts = _windows_of(equation)
    return bool(axes) and not all(isinstance(atom, Literal) for atom in equation.invars[starts])


def out_of_bounds(equation: Equation, operands: Sequence[Any]) -> Any:
    """Returns whether an index of an equation is out of bounds, as a boolean scalar."""
    shape = equation.invars[0].aval.shape
    axes, sizes, start_operands = _windows_of(equation)
    limits = _limits(shape, axes, sizes)
    starts = [
        lax.convert_element_type(operand, np.dtype(np.int32))
        for operand in operands[start_operands]
    ]
    if not np.ndim(starts[0]):
        limits = list(limits)
    else:
        limits = [np.broadcast_to(limits, starts[0].shape)]
    outside = [
        any_of(lax.bitwise_or(lax.lt(start, np.zeros_like(limit)), lax.gt(start, limit)))
        for start, limit in zip(starts, limits, strict=True)
    ]
    return functools.reduce(lax.bitwise_or, outside)


def _limits(shape: Sequence[int], axes: Sequence[int], sizes: Sequence[int]) -> np.ndarray:
    """Returns the largest start along each axis."""
    return np.array([shape[axis] - size for axis, size in zip(axes, sizes, strict=True)], np.int32)


def _check_bounds(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Error:
    """Adds a check that windows are inside the operand."""
    axes, sizes, start_operands = _windows_of(equation)
    if OOBError not in enabled or not axes:
        return error
    shape = equation.invars[0].aval.shape
    words = [
        lax.convert_element_type(operand, np.dtype(np.int32))
        for operand in operands[start_operands]
    ]
    flat = [lax.reshape(word, (get_aval(word).size,)) for word in words]
    starts = flat[0] if len(flat) == 1 else lax.concatenate(flat, 0)
    starts = lax.reshape(starts, (starts.size // len(axes), len(axes)))
    limits = np.broadcast_to(_limits(shape, axes, sizes), starts.shape)
    outside = lax.bitwise_or(lax.lt(starts, np.zeros_like(limits)), lax.gt(starts, limits))
    outside = lax.reshape(outside, (starts.size,))
    first = lax.argmax(outside, 0, np.int32)
    index = lax.dynamic_index_in_dim(lax.reshape(starts, (starts.size,)), first, 0, keepdims=False)
    # The axis of the first index out of bounds, and its size.
    which = lax.rem(first, np.int32(len(axes)))
    axis, size = (
        lax.dynamic_index_in_dim(np.asarray(table, np.int32), which, 0, keepdims=False)
        for table in (axes, [shape[axis] for axis in axes])
    )
    payload = lax.concatenate([lax.reshape(part, (1,)) for part in (index, axis, size)], 0)
    site = Site(OOBError, (shape,), equation.source_info)
    return found(error, equation, site, any_of(outside), [payload])


def _read(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    error = _check_bounds(equation, enabled, error, operands)
    return error, bind_equation(equation, operands)


def _written(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    error = _check_bounds(equation, enabled, error, operands)
    return with_nan_check(equation, enabled, error, operands)


for _primitive in (lax.dynamic_slice_p, lax.dynamic_update_slice_p, lax.gather_p):
    error_rules.define(_primitive, _read)
for _primitive in (
    lax.scatter_p,
    lax.scatter_add_p,
    lax.scatter_mul_p,
    lax.scatter_min_p,
    lax.scatter_max_p,
):
    error_rules.define(_primitive, _written)
