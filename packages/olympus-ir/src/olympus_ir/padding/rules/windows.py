# SPDX-License-Identifier: Apache-2.0
"""Padding rules of reductions over windows: padding is replaced by the neutral element."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ... import lax
from ...lax.windows.reductions import reduce_window_p
from ...programs.primitives import Primitive
from ...symbolic.expressions import SymbolicDim
from ...types.avals import ShapedArray
from ..evaluation import Site, padding_rules, refused
from ..identities import highest, lowest
from ..moves import window
from .shaping import padded_along


class _Windows(NamedTuple):
    """Padded arrays, and windows over them.

    Attributes:
      arrays: the arrays, whose padding holds neutral elements. Padding of symbolic size that the
        operation adds in front is part of the arrays, and also holds neutral elements.
      params: the parameters of windows over these arrays.
      fronts: the symbolic amounts of padding in front, by axis.
    """

    arrays: list[Any]
    params: dict[str, Any]
    fronts: dict[int, Any]


def _windows(
    site: Site,
    primitive: Primitive,
    arrays: Sequence[Any],
    aval: ShapedArray,
    values: Sequence[Any],
    counts: Sequence[Any],
    params: dict[str, Any],
) -> _Windows:
    """Returns windows over padded arrays.

    Args:
      site: the equation.
      primitive: the primitive.
      arrays: the padded arrays, of the same shape.
      aval: their type, with the symbolic shape.
      values: for each array, the value that replaces its padding.
      counts: the symbolic numbers of windows along each axis.
      params: the parameters of the equation.
    """
    lengths = site.lengths
    mask = lengths.valid(aval.shape)
    if mask is not None:
        arrays = [
            lax.select(mask, x, lax.broadcast(value, x.shape))
            for x, value in zip(arrays, values, strict=True)
        ]
    arrays, fronts = list(arrays), {}
    sizes, pads = list(params["window_dimensions"]), list(params["padding"])
    dilations = list(params.get("base_dilation", (1,) * aval.ndim))
    for axis, (low, high) in enumerate(params["padding"]):
        if isinstance(sizes[axis], SymbolicDim):
            if sizes[axis] != aval.shape[axis] or (low, high) != (0, 0):
                raise refused(site, primitive, f"windows along axis {axis} vary in size")
            sizes[axis] = lengths.capacity(sizes[axis])
        if not any(isinstance(size, SymbolicDim) for size in (aval.shape[axis], low, high)):
            continue
        spread = params.get("window_dilation", (1,) * aval.ndim)[axis] * (sizes[axis] - 1) + 1
        reach = (lengths.capacity(counts[axis]) - 1) * params["window_strides"][axis] + spread
        if isinstance(low, SymbolicDim):
            fronts[axis] = low
            arrays = [
                padded_along(lengths, x, axis, low, dilations[axis] - 1, reach, value)
                for x, value in zip(arrays, values, strict=True)
            ]
            low, dilations[axis] = 0, 1
        spread_array = dilations[axis] * (arrays[0].shape[axis] - 1) + 1
        pads[axis] = (low, reach - low - spread_array)
    changed = {**params, "window_dimensions": tuple(sizes), "padding": tuple(pads)}
    if "base_dilation" in params:
        changed["base_dilation"] = tuple(dilations)
    return _Windows(arrays, changed, fronts)


def _scalar(x: Any, value: Any) -> Any:
    return lax.full_like(x, value, shape=())


def _define_window_reduction(primitive: Primitive, identity: Callable[[Any], Any]) -> None:
    @padding_rules.define(primitive)
    def rule(site: Site, operand: Any, **params: Any) -> Any:
        (aval,), (result,) = site.operands, site.results
        values = [_scalar(operand, identity(aval.dtype))]
        windows = _windows(site, primitive, [operand], aval, values, result.shape, params)
        return site.lengths.guarded(primitive.bind(*windows.arrays, **windows.params), result)

    del rule


_define_window_reduction(lax.reduce_window_sum_p, lambda dtype: 0)
_define_window_reduction(lax.reduce_window_max_p, lowest)
_define_window_reduction(lax.reduce_window_min_p, highest)


@padding_rules.define(reduce_window_p)
def _reduce_window(site: Site, *values: Any, **params: Any) -> Any:
    count = len(values) // 2
    operands, inits = values[:count], values[count:]
    aval, result = site.operands[0], site.results[0]
    windows = _windows(site, reduce_window_p, operands, aval, inits, result.shape, params)
    return reduce_window_p.bind(*windows.arrays, *inits, **windows.params)


def _never_selected(operand: Any, select_prim: Primitive) -> Any:
    worst = lowest if select_prim is lax.ge_p else highest
    return _scalar(operand, worst(operand.dtype))


@padding_rules.define(lax.select_and_scatter_add_p)
def _select_and_scatter_add(site: Site, source: Any, operand: Any, **params: Any) -> Any:
    primitive, (source_aval, aval) = lax.select_and_scatter_add_p, site.operands
    values = [_never_selected(operand, params["select_prim"])]
    windows = _windows(site, primitive, [operand], aval, values, source_aval.shape, params)
    source = site.lengths.filled(source, source_aval, 0)
    scattered = primitive.bind(source, *windows.arrays, **windows.params)
    for axis, front in windows.fronts.items():  # the elements in front are not part of the result
        start, most = site.lengths.value(front), site.lengths.capacity(front)
        scattered = window(scattered, axis, start, operand.shape[axis], most)
    return scattered


@padding_rules.define(lax.select_and_gather_add_p)
def _select_and_gather_add(site: Site, tangents: Any, operand: Any, **params: Any) -> Any:
    primitive, aval, result = lax.select_and_gather_add_p, site.operands[1], site.results[0]
    values = [_scalar(tangents, 0), _never_selected(operand, params["select_prim"])]
    arrays = [tangents, operand]
    windows = _windows(site, primitive, arrays, aval, values, result.shape, params)
    return site.lengths.guarded(primitive.bind(*windows.arrays, **windows.params), result)


padding_rules.exempt(
    lax.select_and_scatter_p,
    reason="the effect of padding on its functions for selection and combination is unknown",
)
