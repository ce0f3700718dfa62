# SPDX-License-Identifier: Apache-2.0
"""What operations take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.convolution import conv_general_dilated_p
from olympus_ir.programs.primitives import Primitive, primitives

from .results import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline_rules,
)


def _moved(context: RooflineRuleContext) -> int:
    """The bytes of operands and results."""
    return RooflineShape.total_bytes(context.avals_in) + RooflineShape.total_bytes(
        context.avals_out
    )


def unfused(context: RooflineRuleContext, operations: int) -> RooflineResult:
    """What an operation takes that is fused into others."""
    return RooflineResult(unfused_flops=operations, unfused_hbm_bytes=_moved(context))


# ---- elementwise operations ----


def _elementwise(context: RooflineRuleContext, *operands: RooflineShape, **_: Any) -> Any:
    return unfused(context, RooflineShape.from_aval(context.avals_out[0]).size)


_FREE = (
    lax.convert_element_type_p,
    lax.bitcast_convert_type_p,
    lax.copy_p,
    lax.stop_gradient_p,
    lax.reduce_precision_p,
    lax.real_p,
    lax.imag_p,
    lax.complex_p,
)
for _primitive in primitives():
    if _primitive.family == "elementwise" and not _primitive.multiple_results:
        roofline_rules[_primitive] = _elementwise
    elif _primitive.family in ("shaping", "transfer", "tokens", "callbacks"):
        register_standard_roofline(_primitive)
for _primitive in (*_FREE, lax.slice_p):
    register_standard_roofline(_primitive)


# ---- reductions, sorting, indexing ----


def _reduction(context: RooflineRuleContext, *operands: RooflineShape, **_: Any) -> Any:
    kept = RooflineShape.from_aval(context.avals_out[0]).size
    return unfused(context, operands[0].size - kept)


for _primitive in (
    lax.reduce_sum_p,
    lax.reduce_max_p,
    lax.reduce_min_p,
    lax.reduce_prod_p,
    lax.reduce_and_p,
    lax.reduce_or_p,
    lax.reduce_xor_p,
    lax.argmax_p,
    lax.argmin_p,
    lax.reduce_p,
):
    roofline_rules[_primitive] = _reduction


def _cumulative(each: int) -> Callable[..., RooflineResult]:
    def rule(context: RooflineRuleContext, x: RooflineShape, *, axis: int, **_: Any) -> Any:
        return unfused(context, each * x.shape[axis])

    return rule


for _primitive in (lax.cumsum_p, lax.cumprod_p, lax.cummax_p, lax.cummin_p):
    roofline_rules[_primitive] = _cumulative(1)
roofline_rules[lax.cumlogsumexp_p] = _cumulative(2)


def _moving(context: RooflineRuleContext, *operands: RooflineShape, **_: Any) -> Any:
    return RooflineResult(unfused_hbm_bytes=_moved(context))


for _primitive in (lax.gather_p, lax.scatter_p, lax.dynamic_slice_p, lax.dynamic_update_slice_p):
    roofline_rules[_primitive] = _moving


@register_roofline(lax.sort_p)
def _sort(
    context: RooflineRuleContext, *operands: RooflineShape, dimension: int, **_: Any
) -> RooflineResult:
    length = max(operands[0].shape[dimension], 2)
    return unfused(context, operands[0].size * math.ceil(math.log2(length)))


# ---- products ----


@register_roofline(lax.dot_general_p)
def _dot_general(
    context: RooflineRuleContext,
    lhs: RooflineShape,
    rhs: RooflineShape,
    *,
    dimension_numbers: Any,
    **_: Any,
) -> RooflineResult:
    (contracting, _), _ = dimension_numbers
    result = RooflineShape.from_aval(context.avals_out[0])
    operations = 2 * result.size * math.prod(lhs.shape[dim] for dim in contracting)
    moved = 0
    if not context.pin_lhs_in_vmem:
        moved += lhs.bytes + result.bytes
    if not context.pin_rhs_in_vmem:
        moved += rhs.bytes
    return RooflineResult(
        flops=operations, unfused_flops=operations, hbm_bytes=moved, unfused_hbm_bytes=moved
    )


@register_roofline(conv_general_dilated_p)
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
    """Products with padding, and with the zeros between dilated elements, do not count."""
    batch, _, *spatial = dimension_numbers.lhs_spec
    out_channels, in_channels, *window = dimension_numbers.rhs_spec
    out_spatial = dimension_numbers.out_spec[2:]
    result = context.avals_out[0].shape
    products = 1
    for place in range(len(spatial)):
        size = x.shape[spatial[place]]
        dilation, low = lhs_dilation[place], padding[place][0]
        products *= sum(
            0 <= start < (size - 1) * dilation + 1 and start % dilation == 0
            for output in range(result[out_spatial[place]])
            for tap in range(kernel.shape[window[place]])
            for start in [output * window_strides[place] + tap * rhs_dilation[place] - low]
        )
    batches = x.shape[batch] // batch_group_count
    pairs = batches * kernel.shape[out_channels] * kernel.shape[in_channels]
    return unfused(context, 2 * products * pairs)


# ---- exchanges between devices ----


def _over_axes(
    context: RooflineRuleContext, names: Any, total: Callable[[int], float], hops: Callable
) -> RooflineResult:
    """Bytes and hops along rings: those of all devices together, shared by the axes."""
    names = (names,) if isinstance(names, str) else tuple(names)
    named = [name for name in names if isinstance(name, str)]
    count = math.prod(context.mesh.shape[name] for name in named)
    return RooflineResult(
        ici_bytes={name: int(total(count) / len(named)) for name in named},
        ici_latency={name: int(hops(count)) for name in named},
    )


def _exchange(
    parameter: str, total: Callable[[int, int], float], hops: Callable[[int], float]
) -> Callable[..., RooflineResult]:
    def rule(context: RooflineRuleContext, *operands: RooflineShape, **params: Any) -> Any:
        size = sum(operand.bytes for operand in operands)
        return _over_axes(context, params[parameter], lambda n: total(size, n), hops)

    return rule


_sum_over_ring = _exchange("axes", lambda size, n: 2 * (n - 1) / n * size, lambda n: 2 * n)
_exchanges: dict[Primitive, Callable[..., RooflineResult]] = {
    lax.psum_p: _sum_over_ring,
    lax.psum_invariant_p: _sum_over_ring,
    lax.pmax_p: _sum_over_ring,
    lax.pmin_p: _sum_over_ring,
    lax.all_gather_p: _exchange("axis_name", lambda size, n: (n - 1) * size, lambda n: n),
    lax.reduce_scatter_p: _exchange("axis_name", lambda size, n: (n - 1) / n * size, lambda n: n),
    lax.all_to_all_p: _exchange("axis_name", lambda size, n: size * n / 4, lambda n: n / 2),
    lax.ppermute_p: _exchange("axis_name", lambda size, n: size, lambda n: 1),
}
roofline_rules.update(_exchanges)
for _primitive in (lax.pvary_p, lax.axis_index_p, lax.pbroadcast_p):
    register_standard_roofline(_primitive)
