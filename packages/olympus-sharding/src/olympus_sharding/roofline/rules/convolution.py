# SPDX-License-Identifier: Apache-2.0
"""Cost of convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir.lax.convolution.convolutions import conv_general_dilated_p

from ..results import RooflineResult, RooflineRuleContext, RooflineShape, roofline_rules, unfused


@roofline_rules.define(conv_general_dilated_p)
def _convolution(
    context: RooflineRuleContext,
    x: RooflineShape,
    kernel: RooflineShape,
    *,
    window_strides: Sequence[int],
    padding: Sequence[tuple[int, int]],
    lhs_dilation: Sequence[int],
    rhs_dilation: Sequence[int],
    dimension_numbers: Any,
    batch_group_count: int,
    **_: Any,
) -> RooflineResult:
    """Estimates a convolution.

    Products with padding, and with the zeros between dilated elements, do not count.
    """
    batch, _, *spatial = dimension_numbers.lhs_spec
    out_channels, in_channels, *window = dimension_numbers.rhs_spec
    out_spatial = dimension_numbers.out_spec[2:]
    result = context.avals_out[0].shape
    products = 1
    for position in range(len(spatial)):
        size = x.shape[spatial[position]]
        dilation, low = lhs_dilation[position], padding[position][0]
        products *= sum(
            0 <= start < (size - 1) * dilation + 1 and start % dilation == 0
            for output in range(result[out_spatial[position]])
            for tap in range(kernel.shape[window[position]])
            for start in [output * window_strides[position] + tap * rhs_dilation[position] - low]
        )
    batches = x.shape[batch] // batch_group_count
    pairs = batches * kernel.shape[out_channels] * kernel.shape[in_channels]
    return unfused(context, 2 * products * pairs)
