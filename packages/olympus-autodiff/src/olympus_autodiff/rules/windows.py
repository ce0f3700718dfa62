# SPDX-License-Identifier: Apache-2.0
"""Derivatives of operations on windows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.lax.windows import reductions
from olympus_ir.lax.windows.folds import (
    add_to_extrema,
    fold_windows,
    neutral_element,
    scatter_to_selected,
)
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.tracing import set_current_trace

from ..forward.jvp import jvp_olympuspr
from ..forward.linearize import LinearizeTrace
from ..memoization import memoized
from ..tables import jvp_rules, linear, linearize_rules, shape_of, transpose_rules, unary_transpose
from ..zeros import Zero, aval_of, has_tangents, instantiate, scalar
from .convolution import input_cotangent_padding
from .reductions import through

# ---- sums ----

jvp_rules.define(reductions.reduce_window_sum_p, linear)


def _sum_transpose(
    cotangent: Any,
    aval: Any,
    *,
    window_dimensions: tuple,
    window_strides: tuple,
    padding: tuple,
    base_dilation: tuple,
    window_dilation: tuple,
) -> Any:
    """Transpose rule of window sums: sums the cotangent over windows."""
    pads = input_cotangent_padding(
        aval.shape,
        window_dimensions,
        shape_of(cotangent),
        window_strides,
        padding,
        base_dilation,
        window_dilation,
    )
    config = [(low, high, step - 1) for (low, high), step in zip(pads, window_strides, strict=True)]
    return reductions.reduce_window_sum_p.bind(
        lax.pad(cotangent, scalar(0, aval.dtype), config),
        window_dimensions=window_dimensions,
        window_strides=base_dilation,
        padding=((0, 0),) * aval.ndim,
        base_dilation=(1,) * aval.ndim,
        window_dilation=window_dilation,
    )


transpose_rules.define(reductions.reduce_window_sum_p, unary_transpose(_sum_transpose))

# ---- extrema ----


def _extremum_jvp(primitive: Any, select_prim: Any) -> Callable[..., Any]:
    """Returns the jvp rule of a window extremum: the tangent of each window's first extremum."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        result = primitive.bind(x, **params)
        return result, reductions.select_and_gather_add_p.bind(
            t, x, select_prim=select_prim, **params
        )

    return rule


jvp_rules.define(
    reductions.reduce_window_max_p, _extremum_jvp(reductions.reduce_window_max_p, lax.ge_p)
)
jvp_rules.define(
    reductions.reduce_window_min_p, _extremum_jvp(reductions.reduce_window_min_p, lax.le_p)
)


def _selection_jvp(primitive: Any) -> Callable[..., Any]:
    """Returns the jvp rule of a primitive that selects elements in windows.

    The primitive is linear in the first operand. The second operand only determines which elements
    are selected.
    """

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (first, x), (t, _) = primals, tangents
        result = primitive.bind(first, x, **params)
        if t.__class__ is Zero:
            return result, Zero.of(result)
        return result, primitive.bind(t, x, **params)

    return rule


jvp_rules.define(
    reductions.select_and_gather_add_p, _selection_jvp(reductions.select_and_gather_add_p)
)
jvp_rules.define(
    reductions.select_and_scatter_add_p, _selection_jvp(reductions.select_and_scatter_add_p)
)


@transpose_rules.define(reductions.select_and_gather_add_p)
def _select_and_gather_add_transpose(
    cotangent: Any,
    tangents: Any,
    operand: Any,
    *,
    select_prim: Any,
    window_dimensions: tuple,
    window_strides: tuple,
    padding: tuple,
    base_dilation: tuple,
    window_dilation: tuple,
) -> list[Any]:
    window = {
        "select_prim": select_prim,
        "window_dimensions": window_dimensions,
        "window_strides": window_strides,
        "padding": padding,
    }
    if any(step != 1 for step in window_dilation):
        # The compiler supports scattering into undilated windows only, so dilated windows are
        # scattered by other operations.
        return [
            add_to_extrema(
                cotangent,
                operand,
                base_dilation=base_dilation,
                window_dilation=window_dilation,
                **window,
            ),
            None,
        ]
    dilated = any(step != 1 for step in base_dilation)
    if dilated:
        aval = aval_of(operand)
        identity = np.asarray(neutral_element(select_prim, aval.dtype)).astype(aval.dtype)
        operand = lax.pad(operand, identity, [(0, 0, step - 1) for step in base_dilation])
    result = reductions.select_and_scatter_add_p.bind(cotangent, operand, **window)
    if dilated:
        shape = shape_of(result)
        result = lax.slice(result, (0,) * len(shape), shape, base_dilation)
    return [result, None]


@transpose_rules.define(reductions.select_and_scatter_add_p)
def _select_and_scatter_add_transpose(
    cotangent: Any, source: Any, operand: Any, **window: Any
) -> list[Any]:
    ones = (1,) * aval_of(operand).ndim
    return [
        reductions.select_and_gather_add_p.bind(
            cotangent, operand, base_dilation=ones, window_dilation=ones, **window
        ),
        None,
    ]


# ---- users' functions ----


@jvp_rules.define(reductions.reduce_window_p)
def _reduce_window_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: Any, consts: tuple, **window: Any
) -> Any:
    """Jvp rule of user-defined reductions: reduces pairs of an element and its tangent."""
    count = len(primals) // 2
    moving = tuple([has_tangents(aval_of(x).dtype) for x in primals[:count]])
    inputs = [instantiate(t) for t, moves in zip(tangents, moving, strict=False) if moves]
    initial = [instantiate(t) for t, moves in zip(tangents[count:], moving, strict=True) if moves]
    results = reductions.reduce_window_p.bind(
        *primals[:count],
        *inputs,
        *primals[count:],
        *initial,
        jaxpr=_function_of_pairs(jaxpr, moving),
        consts=(),
        **window,
    )
    remaining = iter(results[count:])
    return results[:count], [
        next(remaining) if moves else Zero.of(result)
        for result, moves in zip(results, moving, strict=False)
    ]


@memoized
def _function_of_pairs(closed: ClosedOlympuspr, moving: tuple[bool, ...]) -> ClosedOlympuspr:
    """Returns the reduction function's derivative on pairs of elements and tangents."""
    derived, _ = jvp_olympuspr(closed, moving * 2, moving)
    count, tangents = len(moving), sum(moving)
    invars = derived.jaxpr.invars
    # The derivative takes both elements first, then the tangents of both.
    order = [
        *range(count),
        *range(2 * count, 2 * count + tangents),
        *range(count, 2 * count),
        *range(2 * count + tangents, 2 * count + 2 * tangents),
    ]
    ordered = derived.jaxpr.replace(invars=[invars[position] for position in order])
    return ClosedOlympuspr(ordered, derived.consts)


def _folded(*operands: Any, **params: Any) -> list[Any]:
    return fold_windows(vmap, *operands, **params)


def _scattered(*operands: Any, **params: Any) -> list[Any]:
    return [scatter_to_selected(vmap, *operands, **params)]


def _linearized(function: Callable[..., list[Any]]) -> Callable[..., Any]:
    """Returns the linearize rule of an operation, given an equivalent composition."""

    def rule(
        trace: LinearizeTrace, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
    ) -> tuple[list[Any], list[Any]]:
        with set_current_trace(trace):
            results = function(*map(trace.pair, primals, tangents), **params)
        pairs = [trace.unpair(result) for result in results]
        return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]

    return rule


# A reduction of pairs, as in `_reduce_window_jvp`, cannot be transposed.
linearize_rules.define(reductions.reduce_window_p, _linearized(_folded))


@jvp_rules.define(reductions.select_and_scatter_p)
def _select_and_scatter_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    (result,), (tangent,) = through(_scattered)(primals, tangents, **params)
    return result, tangent


@linearize_rules.define(reductions.select_and_scatter_p)
def _select_and_scatter_linearize(
    trace: LinearizeTrace, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> Any:
    (result,), (tangent,) = _linearized(_scattered)(trace, primals, tangents, **params)
    return result, tangent
