# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns and Jacobian terms of sums over windows, and of windows in general."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from olympus_ir import lax
from olympus_ir.reference import reference_rules

from ..elimination import term_rules
from ..patterns import Flow, Pattern, relation
from ..propagation import sparsity_rules
from ..terms import MOST_SUMMED, Linear, Term, Unsupported, added, is_known

__all__ = ["WindowAxis", "window_axes", "window_term"]


class WindowAxis(NamedTuple):
    """One dimension of windows that move over an array.

    Attributes:
      num_windows: the number of windows, which is the size of the result.
      size: the size of the array.
      stride: the distance between neighboring windows.
      padding: the padding before the array and after it.
      dilation: the distance between neighboring elements of the array.
      window_dilation: the distance between neighboring elements of the window.
    """

    num_windows: int
    size: int
    stride: int
    padding: tuple[int, int]
    dilation: int
    window_dilation: int

    def sources(self, tap: int) -> tuple[np.ndarray, np.ndarray]:
        """Returns the windows whose element ``tap`` lies on the array, and the indices there.

        The other windows have this element in the padding or between dilated elements.

        Returns:
          The indices of the windows, and for each window the index of the array's element.

        Example:
          >>> axis = WindowAxis(4, 4, 1, (1, 0), 1, 1)
          >>> [indices.tolist() for indices in axis.sources(0)]
          [[1, 2, 3], [0, 1, 2]]
        """
        windows = np.arange(self.num_windows)
        positions = windows * self.stride + tap * self.window_dilation - self.padding[0]
        indices, between = np.divmod(positions, self.dilation)
        inside = (positions >= 0) & (between == 0) & (indices < self.size)
        return windows[inside], indices[inside]


def window_axes(
    counts: Sequence[int],
    sizes: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    dilations: Sequence[int],
    window_dilations: Sequence[int],
) -> list[WindowAxis]:
    """Returns the dimensions of windows, given one attribute of all dimensions at a time."""
    fields = (counts, sizes, strides, padding, dilations, window_dilations)
    return [WindowAxis(*of_axis) for of_axis in zip(*fields, strict=True)]


@sparsity_rules.define(lax.reduce_window_sum_p)
def _window_sum(
    results: Sequence[Any],
    x: Flow,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
    **_: Any,
) -> Pattern:
    shape = results[0].shape
    out_ids = np.arange(math.prod(shape)).reshape(shape)
    axes = window_axes(shape, x.shape, window_strides, padding, base_dilation, window_dilation)
    outputs, inputs = [], []
    for offset in itertools.product(*map(range, window_dimensions)):
        sources = [axis.sources(tap) for axis, tap in zip(axes, offset, strict=True)]
        outputs.append(out_ids[np.ix_(*(windows for windows, _ in sources))].ravel())
        inputs.append(x.ids[np.ix_(*(indices for _, indices in sources))].ravel())
    pairs = relation(np.concatenate(outputs), np.concatenate(inputs), (out_ids.size, x.size))
    return pairs @ x.pattern


def window_term(
    term: Term,
    shape: Sequence[int],
    starts: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
) -> Term:
    """Returns the elements that one position of the window contributes to a sum over windows.

    Args:
      term: a term of the padded array.
      shape: the shape of the result.
      starts: the position in the window, in each dimension.
      strides: the steps between windows.
      padding: the padding before and after each dimension.
    """
    if term.rows is not None:
        raise Unsupported("a window over sums")
    config = [(low, high, 0) for low, high in padding]
    limits = [
        start + (size - 1) * stride + 1
        for start, size, stride in zip(starts, shape, strides, strict=True)
    ]
    window = tuple(map(slice, starts, limits, strides))
    pad = reference_rules[lax.pad_p]
    columns = pad(term.columns, np.array(-1), padding_config=tuple(config))[window]
    coefficient = term.coefficient
    if np.ndim(coefficient):
        zero = np.zeros((), coefficient.dtype)
        if is_known(coefficient):
            padded = pad(coefficient, zero, padding_config=tuple(config))
        else:
            padded = lax.pad(coefficient, zero, config)
        coefficient = padded[window]
    return Term(columns, coefficient)


@term_rules.define(lax.reduce_window_sum_p)
def _window_sum_terms(
    results: Sequence[Any],
    x: Linear,
    *,
    window_dimensions: Sequence[int],
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    base_dilation: Sequence[int],
    window_dilation: Sequence[int],
    **_: Any,
) -> list[Term]:
    """Returns one term for each position in the window."""
    if math.prod(window_dimensions) > MOST_SUMMED or any(
        dilation != 1 for dilation in base_dilation
    ):
        raise Unsupported("a large window or a dilated operand")
    return added(
        [
            window_term(
                term,
                results[0].shape,
                [tap * spread for tap, spread in zip(offset, window_dilation, strict=True)],
                window_strides,
                padding,
            )
            for term in x.terms
            for offset in itertools.product(*map(range, window_dimensions))
        ]
    )
