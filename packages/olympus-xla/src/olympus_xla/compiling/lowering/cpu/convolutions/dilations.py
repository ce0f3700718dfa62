# SPDX-License-Identifier: Apache-2.0
"""Convolutions of dilated images, as one convolution for each phase of the result.

Transposed convolutions, and derivatives of convolutions with strides with respect to the images,
insert zeros between the elements of the images. XLA's CPU backend computes these convolutions by a
scalar loop. Elements of the result whose places have the same remainder by the dilation are a
phase: they see the same elements of the windows, and no inserted zeros. Their convolution without
dilation takes a fifth of the time for windows of 4x4 and dilations of 2. With smaller windows of
images it takes five sixths, which is not worth the time to compile several convolutions.

The operation "transposed convolution" of the benchmarks covers this module.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p
from olympus_ir.lax.convolution.dimension_numbers import permuted

from ...context import LoweringContext
from .limits import FLOATS, is_large

# Each phase is a convolution to compile.
_MOST_PHASES = 8


def is_of_phases(
    context: LoweringContext,
    *,
    dimension_numbers: Any,
    window_strides: tuple,
    lhs_dilation: tuple,
    rhs_dilation: tuple,
    feature_group_count: int,
    batch_group_count: int,
    **params: Any,
) -> bool:
    """Returns whether `convolutions_of_phases` replaces XLA's convolution."""
    windows = permuted(context.avals_in[1].shape, dimension_numbers.rhs_spec)[2:]
    pairs = zip(windows, lhs_dilation, strict=True)
    return (
        1 < math.prod(lhs_dilation) <= _MOST_PHASES
        and (
            len(windows) == 3
            or all(dilation == 1 or size >= 2 * dilation for size, dilation in pairs)
        )
        and feature_group_count == batch_group_count == 1
        and set(window_strides) == set(rhs_dilation) == {1}
        and is_large(context, FLOATS)
    )


def convolutions_of_phases(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any,
    padding: tuple,
    lhs_dilation: tuple,
    **params: Any,
) -> Any:
    """Convolves dilated images, phase by phase, and interleaves the results."""
    lhs_spec, rhs_spec, out_spec = (spec[2:] for spec in dimension_numbers)
    sizes = [lhs.shape[position] for position in lhs_spec]
    windows = [rhs.shape[position] for position in rhs_spec]
    lengths = [
        low + dilation * (size - 1) + 1 + high - window + 1
        for size, window, dilation, (low, high) in zip(
            sizes, windows, lhs_dilation, padding, strict=True
        )
    ]

    def phase(offsets: tuple[int, ...]) -> Any:
        starts, pads, steps = [0] * rhs.ndim, [], [1] * rhs.ndim
        for axis, (offset, dilation) in enumerate(zip(offsets, lhs_dilation, strict=True)):
            low = padding[axis][0]
            first = (low - offset) % dilation
            seen = len(range(first, windows[axis], dilation))
            start = (offset + first - low) // dilation
            count = -(-lengths[axis] // dilation)
            pads.append((-start, count + start + seen - 1 - sizes[axis]))
            starts[rhs_spec[axis]], steps[rhs_spec[axis]] = first, dilation
        if np.any(np.greater_equal(starts, rhs.shape)):
            return None
        return conv_general_dilated_p.bind(
            lhs,
            lax.slice(rhs, starts, rhs.shape, steps),
            dimension_numbers=dimension_numbers,
            padding=tuple(pads),
            lhs_dilation=(1,) * len(sizes),
            window_strides=(1,) * len(sizes),
            rhs_dilation=(1,) * len(sizes),
            feature_group_count=1,
            batch_group_count=1,
            **params,
        )

    phases = {offsets: phase(offsets) for offsets in itertools.product(*map(range, lhs_dilation))}
    return _interleaved(phases, out_spec, lengths, lhs_dilation)


def _interleaved(phases: dict, spec: tuple, lengths: list[int], dilations: tuple) -> Any:
    """Joins the phases of a result.

    Args:
      phases: from the phase along each spatial dimension to the elements of this phase, or None if
        they are zero.
      spec: the spatial dimensions.
      lengths: the sizes of the spatial dimensions of the result.
      dilations: the number of phases along each spatial dimension.
    """
    some = next(part for part in phases.values() if part is not None)
    zeros = lax.full(some.shape, 0, some.dtype)
    parts = {offsets: zeros if part is None else part for offsets, part in phases.items()}
    for axis in reversed(range(len(spec))):
        position = spec[axis]
        joined = {}
        for before in {offsets[:axis] for offsets in parts}:
            of_axis = [parts[(*before, offset)] for offset in range(dilations[axis])]
            joined[before] = _alternated(of_axis, position, lengths[axis])
        parts = joined
    return parts[()]


def _alternated(parts: list[Any], position: int, length: int) -> Any:
    """Returns an array whose elements along a dimension come from the parts by turns."""
    if len(parts) == 1:
        return parts[0]
    stacked = lax.concatenate(
        [lax.expand_dims(part, (position + 1,)) for part in parts], position + 1
    )
    shape = list(parts[0].shape)
    shape[position] *= len(parts)
    return lax.slice_in_dim(lax.reshape(stacked, shape), 0, length, axis=position)
