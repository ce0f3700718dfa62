# SPDX-License-Identifier: Apache-2.0
"""Derivatives of reductions and cumulative operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_batching import vmap
from olympus_ir import lax
from olympus_ir.expansions.log_add_exp import log_add_exp
from olympus_ir.lax.control_flow.associative import combined_in_pairs
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.types import dtypes

from ..custom.custom_jvp import custom_jvp
from ..forward.jvp import jvp_flat
from ..tables import (
    constant,
    jvp_rules,
    linear,
    transpose_rules,
    unary_transpose,
    zero_derivative,
)
from ..zeros import aval_of, cotangent_sharding
from .elementwise import product

# ---- sums ----

jvp_rules.define(lax.reduce_sum_p, linear)


def _reduce_sum_transpose(cotangent: Any, aval: Any, *, axes: tuple, out_sharding: Any) -> Any:
    remaining_axes = tuple(axis for axis in range(aval.ndim) if axis not in axes)
    sharding = cotangent_sharding(cotangent, aval)
    if not axes and sharding is None:
        return cotangent
    return lax.broadcast_in_dim(cotangent, aval.shape, remaining_axes, out_sharding=sharding)


transpose_rules.define(lax.reduce_sum_p, unary_transpose(_reduce_sum_transpose))

jvp_rules.define(lax.cumsum_p, linear)
transpose_rules.define(
    lax.cumsum_p,
    unary_transpose(
        lambda ct, aval, *, axis, reverse: lax.cumsum_p.bind(ct, axis=axis, reverse=not reverse)
    ),
)

# ---- extrema ----


def _extremum_jvp(primitive: Any) -> Callable[..., Any]:
    """Returns the jvp rule of an extremum: the mean of the tangents where it is attained."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple, **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        y = primitive.bind(x, axes=axes, **params)
        aval = aval_of(x)
        kept_shape = tuple(1 if axis in axes else size for axis, size in enumerate(aval.shape))
        attained = convert_dtype(lax.eq_p.bind(x, lax.reshape(y, kept_shape)), aval.dtype)
        count = lax.reduce_sum(attained, axes)
        return y, lax.div_p.bind(lax.reduce_sum(product(t, attained), axes), count)

    return rule


for _primitive in (lax.reduce_max_p, lax.reduce_min_p):
    jvp_rules.define(_primitive, _extremum_jvp(_primitive))
for _primitive in (lax.argmax_p, lax.argmin_p):
    jvp_rules.define(_primitive, zero_derivative)
for _primitive in (lax.reduce_and_p, lax.reduce_or_p, lax.reduce_xor_p):
    jvp_rules.exempt(_primitive, reason="takes integers only, which have no tangents")


# ---- operations that are differentiated through a tree of pairwise operations ----


def through(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the jvp rule of an operation that equals a composition of simpler operations.

    Args:
      function: a function of operands and parameters that returns a list of results. It computes
        the operation by simpler operations, which are differentiated.
    """

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return jvp_flat(lambda *operands: function(*operands, **params), primals, tangents)

    return rule


def through_single(function: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the jvp rule of an operation with one result; see `through`.

    Args:
      function: a function of operands and parameters that returns one result.
    """
    rule = through(lambda *operands, **params: [function(*operands, **params)])

    def rule_of_single(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        (result,), (tangent,) = rule(primals, tangents, **params)
        return result, tangent

    return rule_of_single


def _by_halves(
    combine: Callable[[list[Any], list[Any]], list[Any]],
    operands: list[Any],
    neutral: Sequence[Any],
    axis: int,
) -> list[Any]:
    """Reduces arrays along one axis by combining halves. The axis remains, with size 1."""
    while True:
        shape = aval_of(operands[0]).shape
        size = shape[axis]
        if size == 1:
            return operands
        middle = (size + 1) // 2
        first = [lax.slice_in_dim(operand, 0, middle, axis=axis) for operand in operands]
        second = [lax.slice_in_dim(operand, middle, size, axis=axis) for operand in operands]
        if size % 2:
            padding = [(0, 1 if dimension == axis else 0, 0) for dimension in range(len(shape))]
            second = [
                lax.pad(half, element, padding)
                for half, element in zip(second, neutral, strict=True)
            ]
        operands = combine(first, second)


def _reduced(
    combine: Callable[[list[Any], list[Any]], list[Any]],
    operands: Sequence[Any],
    neutral: Sequence[Any],
    axes: Sequence[int],
) -> list[Any]:
    shape = aval_of(operands[0]).shape
    remaining_sizes = [size for axis, size in enumerate(shape) if axis not in axes]
    if math.prod(shape[axis] for axis in axes) == 0:
        return [lax.broadcast_in_dim(element, remaining_sizes, ()) for element in neutral]
    values = list(operands)
    for axis in axes:
        values = _by_halves(combine, values, neutral, axis)
    return [lax.squeeze(value, axes) for value in values]


def _product_over(operand: Any, *, axes: tuple, **params: Any) -> Any:
    return _reduced(
        lambda first, second: [product(first[0], second[0])],
        [operand],
        [constant(1, operand)],
        axes,
    )[0]


jvp_rules.define(lax.reduce_prod_p, through_single(_product_over))


@jvp_rules.define(lax.reduce_p)
@through
def _reduce_by_halves(*operands: Any, computation: Any, jaxpr: Any, dimensions: tuple) -> list[Any]:
    count = len(operands) // 2
    values, neutral = operands[:count], operands[count:]

    def combine_elements(*elements: Any) -> list[Any]:
        return eval_olympuspr(jaxpr.jaxpr, jaxpr.consts, *elements)

    def combine(first: list[Any], second: list[Any]) -> list[Any]:
        function = combine_elements
        for _ in aval_of(first[0]).shape:
            function = vmap(function)
        return function(*first, *second)

    return _reduced(combine, values, neutral, dimensions)


def _cumulative(combine: Callable[[Any, Any], Any]) -> Callable[..., Any]:
    def function(operand: Any, *, axis: int, reverse: bool) -> Any:
        # `associative_scan` would be the cumulative operation again.
        return combined_in_pairs(
            lambda first, second: [combine(first[0], second[0])],
            [operand],
            axis=axis,
            reverse=reverse,
        )[0]

    return through_single(function)


_logaddexp = custom_jvp(log_add_exp)


@_logaddexp.defjvp
def _logaddexp_jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    (x, y), (tx, ty) = primals, tangents
    result = _logaddexp(x, y)
    return result, lax.add(
        product(tx, lax.exp(lax.sub(_finite_or_zero(x), _finite_or_zero(result)))),
        product(ty, lax.exp(lax.sub(_finite_or_zero(y), _finite_or_zero(result)))),
    )


def _finite_or_zero(x: Any) -> Any:
    aval = aval_of(x)
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        return x
    zeros = lax.broadcast_in_dim(constant(0, x), aval.shape, ())
    return lax.select_n(lax.eq(x, constant(np.inf, x)), x, zeros)


jvp_rules.define(lax.cumprod_p, _cumulative(product))
jvp_rules.define(lax.cummax_p, _cumulative(lax.max))
jvp_rules.define(lax.cummin_p, _cumulative(lax.min))
jvp_rules.define(lax.cumlogsumexp_p, _cumulative(_logaddexp))
