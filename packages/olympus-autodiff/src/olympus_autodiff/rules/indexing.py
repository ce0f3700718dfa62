# SPDX-License-Identifier: Apache-2.0
"""Derivatives of slicing, gathering and scattering."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.types.avals import ShapedArray

from ..tables import jvp_rules, linear, transpose_rules, unary_transpose
from ..zeros import (
    Zero,
    add_tangents,
    aval_of,
    instantiate,
    is_undefined_primal,
    scalar,
    zeros_like_aval,
)
from .elementwise import product

# ---- slices ----

jvp_rules.define(lax.slice_p, linear)


def _slice_transpose(
    cotangent: Any,
    aval: Any,
    *,
    start_indices: tuple,
    limit_indices: tuple,
    strides: tuple | None,
) -> Any:
    config = []
    shape = aval_of(cotangent).shape
    for axis, (start, size, length) in enumerate(
        zip(start_indices, aval.shape, shape, strict=True)
    ):
        stride = 1 if strides is None else strides[axis]
        reached = start + (stride * (length - 1) + 1 if length else 0)
        config.append((start, size - reached, stride - 1 if stride != 1 and length > 1 else 0))
    return lax.pad_p.bind(cotangent, scalar(0, aval.dtype), padding_config=tuple(config))


transpose_rules.define(lax.slice_p, unary_transpose(_slice_transpose))


@jvp_rules.define(lax.dynamic_slice_p)
def _dynamic_slice_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    operand, *starts = primals
    result = lax.dynamic_slice_p.bind(operand, *starts, **params)
    if tangents[0].__class__ is Zero:
        return result, Zero.of(result)
    return result, lax.dynamic_slice_p.bind(tangents[0], *starts, **params)


@transpose_rules.define(lax.dynamic_slice_p)
def _dynamic_slice_transpose(cotangent: Any, operand: Any, *starts: Any, slice_sizes: Any) -> list:
    zeros = zeros_like_aval(operand.aval)
    return [
        lax.dynamic_update_slice_p.bind(zeros, cotangent, *starts),
        *(None for _ in starts),
    ]


@jvp_rules.define(lax.dynamic_update_slice_p)
def _dynamic_update_slice_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    starts = primals[2:]
    bind = lax.dynamic_update_slice_p.bind
    return bind(*primals), bind(*map(instantiate, tangents[:2]), *starts)


@transpose_rules.define(lax.dynamic_update_slice_p)
def _dynamic_update_slice_transpose(
    cotangent: Any, operand: Any, update: Any, *starts: Any
) -> list[Any]:
    update_aval = update.aval if is_undefined_primal(update) else aval_of(update)
    by_operand = by_update = None
    if is_undefined_primal(operand):
        zeros = zeros_like_aval(update_aval)
        by_operand = lax.dynamic_update_slice_p.bind(cotangent, zeros, *starts)
    if is_undefined_primal(update):
        by_update = lax.dynamic_slice_p.bind(cotangent, *starts, slice_sizes=update_aval.shape)
    return [by_operand, by_update, *(None for _ in starts)]


# ---- gathering ----


@jvp_rules.define(lax.gather_p)
def _gather_jvp(
    primals: Sequence[Any], tangents: Sequence[Any], *, fill_value: Any, **params: Any
) -> Any:
    operand, indices = primals
    result = lax.gather_p.bind(operand, indices, fill_value=fill_value, **params)
    if tangents[0].__class__ is Zero:
        return result, Zero.of(result)
    fill_tangent = None if fill_value is None else 0
    return result, lax.gather_p.bind(tangents[0], indices, fill_value=fill_tangent, **params)


@transpose_rules.define(lax.gather_p)
def _gather_transpose(
    cotangent: Any,
    operand: Any,
    indices: Any,
    *,
    dimension_numbers: Any,
    slice_sizes: tuple,
    fill_value: Any,
    **params: Any,
) -> list[Any]:
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=dimension_numbers.offset_dims,
        inserted_window_dims=dimension_numbers.collapsed_slice_dims,
        scatter_dims_to_operand_dims=dimension_numbers.start_index_map,
        operand_batching_dims=dimension_numbers.operand_batching_dims,
        scatter_indices_batching_dims=dimension_numbers.start_indices_batching_dims,
    )
    zeros = zeros_like_aval(operand.aval)
    return [lax.scatter_add(zeros, indices, cotangent, numbers, **params), None]


# ---- scattering ----


def _gather_like(
    operand: Any,
    indices: Any,
    update_shape: tuple[int, ...],
    *,
    dimension_numbers: Any,
    mode: Any,
    fill_value: Any = 0,
    **params: Any,
) -> Any:
    """Returns the windows of an operand to which a scatter with the same parameters writes."""
    operand_shape = aval_of(operand).shape
    if 0 in operand_shape:  # the scatter writes nothing, and there is nothing to gather
        return lax.full(update_shape, fill_value, aval_of(operand).dtype)
    numbers = dimension_numbers
    removed = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    window = iter(numbers.update_window_dims)
    slice_sizes = tuple(
        1 if axis in removed else update_shape[next(window)] for axis in range(len(operand_shape))
    )
    return lax.gather_p.bind(
        operand,
        indices,
        dimension_numbers=lax.GatherDimensionNumbers(
            offset_dims=numbers.update_window_dims,
            collapsed_slice_dims=numbers.inserted_window_dims,
            start_index_map=numbers.scatter_dims_to_operand_dims,
            operand_batching_dims=numbers.operand_batching_dims,
            start_indices_batching_dims=numbers.scatter_indices_batching_dims,
        ),
        slice_sizes=slice_sizes,
        unique_indices=params["unique_indices"],
        indices_are_sorted=params["indices_are_sorted"],
        mode=mode,
        fill_value=fill_value if mode is lax.GatherScatterMode.FILL_OR_DROP else None,
    )


def _scatter_params(params: dict[str, Any]) -> dict[str, Any]:
    """Returns those parameters of a scatter that determine which elements it writes."""
    return {
        name: value
        for name, value in params.items()
        if name not in ("update_jaxpr", "update_consts")
    }


def _window_shape(updates: Any) -> tuple[int, ...]:
    return (updates.aval if is_undefined_primal(updates) else aval_of(updates)).shape


def _additive_jvp(primitive: Any) -> Callable[..., Any]:
    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        operand, indices, updates = primals
        by_operand, _, by_updates = tangents
        result = primitive.bind(operand, indices, updates, **params)
        if by_updates.__class__ is Zero:
            return result, by_operand
        return result, primitive.bind(instantiate(by_operand), indices, by_updates, **params)

    return rule


def _additive_transpose(sign: Callable[[Any], Any]) -> Callable[..., Any]:
    def rule(cotangent: Any, operand: Any, indices: Any, updates: Any, **params: Any) -> list[Any]:
        by_updates = None
        if is_undefined_primal(updates):
            scatter_params = _scatter_params(params)
            by_updates = sign(
                _gather_like(cotangent, indices, _window_shape(updates), **scatter_params)
            )
        return [cotangent if is_undefined_primal(operand) else None, None, by_updates]

    return rule


for _primitive, _sign in ((lax.scatter_add_p, lambda x: x), (lax.scatter_sub_p, lax.neg)):
    jvp_rules.define(_primitive, _additive_jvp(_primitive))
    transpose_rules.define(_primitive, _additive_transpose(_sign))


@jvp_rules.define(lax.scatter_mul_p)
def _scatter_mul_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    operand, indices, updates = primals
    by_operand, _, by_updates = tangents
    result = lax.scatter_mul_p.bind(operand, indices, updates, **params)
    first = by_operand
    if by_operand.__class__ is not Zero:
        first = lax.scatter_mul_p.bind(by_operand, indices, updates, **params)
    if by_updates.__class__ is Zero:
        return result, first
    if not _writes_once(indices, params):
        raise NotImplementedError(
            "scatter_mul can be differentiated with respect to the updates only if no element is "
            "multiplied twice; promise this with unique_indices=True"
        )
    scatter_params = _scatter_params(params)
    spread = lax.scatter_add(
        zeros_like_aval(aval_of(operand)), indices, by_updates, **scatter_params
    )
    return result, add_tangents(first, product(operand, spread))


@transpose_rules.define(lax.scatter_mul_p)
def _scatter_mul_transpose(
    cotangent: Any, operand: Any, indices: Any, updates: Any, **params: Any
) -> list[Any]:
    return [lax.scatter_mul_p.bind(cotangent, indices, updates, **params), None, None]


def _writes_once(indices: Any, params: dict[str, Any]) -> bool:
    """Returns whether at most one update writes to each element."""
    shape = aval_of(indices).shape
    batched = params["dimension_numbers"].scatter_indices_batching_dims
    count = math.prod(size for axis, size in enumerate(shape[:-1]) if axis not in batched)
    return params["unique_indices"] or count <= 1


@jvp_rules.define(lax.scatter_p)
def _scatter_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    operand, indices, updates = primals
    by_operand, _, by_updates = tangents
    if by_updates.__class__ is Zero or _writes_once(indices, params):
        return (
            lax.scatter_p.bind(operand, indices, updates, **params),
            lax.scatter_p.bind(instantiate(by_operand), indices, instantiate(by_updates), **params),
        )
    # The order of updates of one element is undefined. Scattering the updates' indices shows which
    # update was written, so result and tangent agree.
    scatter_params = _scatter_params(params)
    operand_shape, update_shape = _window_shape(operand), _window_shape(updates)
    count = math.prod(update_shape)
    index_dtype = np.dtype(np.uint32) if count < 2**32 else np.dtype(np.uint64)
    one = scalar(1, index_dtype)
    numbers = lax.add(lax.reshape(lax.iota(index_dtype, count), update_shape), one)
    nothing = zeros_like_aval(ShapedArray(operand_shape, index_dtype))
    arrived = lax.scatter_p.bind(nothing, indices, numbers, **params)
    wins = lax.eq(numbers, _gather_like(arrived, indices, update_shape, **scatter_params))
    is_kept = lax.eq(arrived, scalar(0, index_dtype))

    def written(of_operand: Any, of_updates: Any) -> Any:
        if of_operand.__class__ is Zero:
            unreplaced = instantiate(of_operand)
        else:
            unreplaced = lax.select_n(is_kept, _zeros_like(of_operand), of_operand)
        won = lax.select_n(wins, _zeros_like(of_updates), of_updates)
        return lax.scatter_add(unreplaced, indices, won, **scatter_params)

    return written(operand, updates), written(by_operand, by_updates)


def _zeros_like(value: Any) -> Any:
    return zeros_like_aval(aval_of(value))


@transpose_rules.define(lax.scatter_p)
def _scatter_transpose(
    cotangent: Any, operand: Any, indices: Any, updates: Any, **params: Any
) -> list[Any]:
    by_operand = by_updates = None
    if is_undefined_primal(operand):
        aval = updates.aval if is_undefined_primal(updates) else aval_of(updates)
        by_operand = lax.scatter_p.bind(cotangent, indices, zeros_like_aval(aval), **params)
    if is_undefined_primal(updates):
        scatter_params = _scatter_params(params)
        by_updates = _gather_like(cotangent, indices, _window_shape(updates), **scatter_params)
    return [by_operand, None, by_updates]


def _extremum_jvp(primitive: Any) -> Callable[..., Any]:
    """Returns the jvp rule of a scatter of extrema.

    The tangent of an element is the mean of the tangents of the operand and the updates that attain
    the extremum.
    """

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        operand, indices, updates = primals
        by_operand, _, by_updates = tangents
        result = primitive.bind(operand, indices, updates, **params)
        scatter_params = _scatter_params(params)
        dtype = aval_of(operand).dtype
        window = _window_shape(updates)
        operand_wins = convert_dtype(lax.eq(operand, result), dtype)
        written = convert_dtype(
            lax.eq(updates, _gather_like(result, indices, window, **scatter_params)), dtype
        )
        count = lax.scatter_add(operand_wins, indices, written, **scatter_params)
        tangent: Any = Zero.of(result)
        if by_operand.__class__ is not Zero:
            tangent = product(by_operand, lax.div(operand_wins, count))
        if by_updates.__class__ is not Zero:
            shares = lax.div(
                written, _gather_like(count, indices, window, fill_value=1, **scatter_params)
            )
            base = instantiate(tangent)
            tangent = lax.scatter_add(base, indices, product(by_updates, shares), **scatter_params)
        return result, tangent

    return rule


for _primitive in (lax.scatter_min_p, lax.scatter_max_p):
    jvp_rules.define(_primitive, _extremum_jvp(_primitive))
