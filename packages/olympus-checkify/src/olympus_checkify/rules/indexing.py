# SPDX-License-Identifier: Apache-2.0
"""Checks of slices, gathers and scatters: indices out of bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.evaluation import bind_equation
from olympus_ir.programs.olympuspr import Equation

from ..errors import Error, OOBError, Site
from ..tables import Enabled, Outcome, error_rules
from .checked_results import any_of, found, with_nan_check


def _check_bounds(
    equation: Equation,
    enabled: Enabled,
    error: Error,
    starts: Any,
    axes: Sequence[int],
    sizes: Sequence[int],
) -> Error:
    """Adds a check that slices are inside the operand.

    Args:
      starts: the starts of the slices, integers of shape (..., len(axes)).
      axes: the axes of the operand that are sliced.
      sizes: the size of the slices along each of these axes.
    """
    if OOBError not in enabled or not axes:
        return error
    shape = equation.invars[0].aval.shape
    starts = lax.convert_element_type(starts, np.dtype(np.int32))
    starts = lax.reshape(starts, (starts.size // len(axes), len(axes)))
    limits = np.array(
        [shape[axis] - size for axis, size in zip(axes, sizes, strict=True)], np.int32
    )
    limits = np.broadcast_to(limits, starts.shape)
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
    payload = lax.concatenate([lax.reshape(each, (1,)) for each in (index, axis, size)], 0)
    site = Site(OOBError, (shape,), equation.source_info)
    return found(error, equation, site, any_of(outside), [payload])


def _slice_starts(starts: Sequence[Any]) -> Any:
    words = [lax.convert_element_type(start, np.dtype(np.int32)) for start in starts]
    return lax.concatenate([lax.reshape(word, (1,)) for word in words], 0)


@error_rules.define(lax.dynamic_slice_p)
def _dynamic_slice(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    sizes = equation.params["slice_sizes"]
    if sizes:
        starts = _slice_starts(operands[1:])
        error = _check_bounds(equation, enabled, error, starts, range(len(sizes)), sizes)
    return error, bind_equation(equation, operands)


@error_rules.define(lax.dynamic_update_slice_p)
def _dynamic_update_slice(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    sizes = equation.invars[1].aval.shape
    if sizes:
        starts = _slice_starts(operands[2:])
        error = _check_bounds(equation, enabled, error, starts, range(len(sizes)), sizes)
    return error, bind_equation(equation, operands)


@error_rules.define(lax.gather_p)
def _gather(equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]) -> Outcome:
    axes = equation.params["dimension_numbers"].start_index_map
    sizes = [equation.params["slice_sizes"][axis] for axis in axes]
    error = _check_bounds(equation, enabled, error, operands[1], axes, sizes)
    return error, bind_equation(equation, operands)


def _scatter(
    equation: Equation, enabled: Enabled, error: Error, operands: Sequence[Any]
) -> Outcome:
    numbers = equation.params["dimension_numbers"]
    updates = equation.invars[2].aval.shape
    windows = iter(updates[dim] for dim in numbers.update_window_dims)
    whole = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    ndim = len(equation.invars[0].aval.shape)
    window_of_axis = [1 if axis in whole else next(windows) for axis in range(ndim)]
    axes = numbers.scatter_dims_to_operand_dims
    sizes = [window_of_axis[axis] for axis in axes]
    error = _check_bounds(equation, enabled, error, operands[1], axes, sizes)
    return with_nan_check(equation, enabled, error, operands)


for _primitive in (
    lax.scatter_p,
    lax.scatter_add_p,
    lax.scatter_mul_p,
    lax.scatter_min_p,
    lax.scatter_max_p,
):
    error_rules.define(_primitive, _scatter)
