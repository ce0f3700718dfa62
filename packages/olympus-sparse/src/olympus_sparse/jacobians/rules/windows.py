# SPDX-License-Identifier: Apache-2.0
"""Sparsity patterns and Jacobian terms of sums over windows."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax

from ..elimination import term_rules
from ..patterns import Flow, Pattern, relation
from ..propagation import sparsity_rules
from ..terms import MOST_SUMMED, Linear, Term, Unsupported, added
from .convolution import taps, window_term


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
    outputs, inputs = [], []
    for offset in itertools.product(*map(range, window_dimensions)):
        sources = [
            taps(out, size, tap, stride, low, dilation, spread)
            for out, size, tap, stride, (low, _), dilation, spread in zip(
                shape,
                x.shape,
                offset,
                window_strides,
                padding,
                base_dilation,
                window_dilation,
                strict=True,
            )
        ]
        inside = [np.nonzero(source >= 0)[0] for source in sources]
        sources_inside = [source[kept] for source, kept in zip(sources, inside, strict=True)]
        outputs.append(out_ids[np.ix_(*inside)].ravel())
        inputs.append(x.ids[np.ix_(*sources_inside)].ravel())
    pairs = relation(np.concatenate(outputs), np.concatenate(inputs), (out_ids.size, x.size))
    return pairs @ x.pattern


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
    if math.prod(window_dimensions) > MOST_SUMMED or any(each != 1 for each in base_dilation):
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
