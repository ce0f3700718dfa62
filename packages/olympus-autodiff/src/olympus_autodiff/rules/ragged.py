# SPDX-License-Identifier: Apache-2.0
"""Derivatives of ragged products, in which each group of rows has its own matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.lax.ragged import RaggedKind, ragged_kind
from olympus_ir.programs.expansion import expansion_rules

from ..reverse.transpose import linear_transpose
from ..tables import jvp_rules, transpose_rules
from ..zeros import Zero, add_tangents, aval_of, is_undefined_primal
from .contractions import free_dimensions


@jvp_rules.define(lax.ragged_dot_general_p)
def _ragged_dot_general_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    (x, y, sizes), (tx, ty, _) = primals, tangents
    dot = lax.ragged_dot_general_p.bind
    result = dot(x, y, sizes, **params)
    total: Any = Zero.of(result)
    if tx.__class__ is not Zero:
        total = dot(tx, y, sizes, **params)
    if ty.__class__ is not Zero:
        total = add_tangents(total, dot(x, ty, sizes, **params))
    return result, total


@transpose_rules.define(lax.ragged_dot_general_p)
def _ragged_dot_general_transpose(
    cotangent: Any,
    x: Any,
    y: Any,
    sizes: Any,
    *,
    ragged_dot_dimension_numbers: Any,
    **params: Any,
) -> list[Any]:
    numbers = ragged_dot_dimension_numbers
    by_left = is_undefined_primal(x)
    if by_left and is_undefined_primal(y):
        raise ValueError(
            "transposition of a product of two linear values: the function is not linear"
        )
    if ragged_kind(numbers) is not RaggedKind.FREE:
        return _transpose_of_expansion(cotangent, x, y, sizes, numbers, params)
    if by_left:
        return [_cotangent_of_left(cotangent, x.aval, y, sizes, numbers, params), None, None]
    return [None, _cotangent_of_right(cotangent, x, y.aval, sizes, numbers, params), None]


def _transpose_of_expansion(
    cotangent: Any, x: Any, y: Any, sizes: Any, numbers: Any, params: dict[str, Any]
) -> list[Any]:
    """Transpose rule of ragged products: transposes the equivalent dense product."""
    expansion = expansion_rules[lax.ragged_dot_general_p]

    def dense(left: Any, right: Any) -> Any:
        return expansion(left, right, sizes, ragged_dot_dimension_numbers=numbers, **params)

    if is_undefined_primal(x):
        (result,) = linear_transpose(lambda left: dense(left, y), _struct(x.aval))(cotangent)
        return [result, None, None]
    (result,) = linear_transpose(lambda right: dense(x, right), _struct(y.aval))(cotangent)
    return [None, result, None]


def _struct(aval: Any) -> Any:
    return lax.full(aval.shape, 0, aval.dtype)


def _cotangent_of_left(
    cotangent: Any, aval: Any, y: Any, sizes: Any, numbers: Any, params: dict[str, Any]
) -> Any:
    """Multiplies each group of the cotangent's rows with the transposed matrix of the group."""
    (x_contracting, y_contracting), (x_batch, y_batch) = numbers.dot_dimension_numbers
    groups = numbers.rhs_group_dimensions
    x_free = free_dimensions(aval.ndim, x_contracting, x_batch)
    y_free = free_dimensions(aval_of(y).ndim, (*y_contracting, *groups), y_batch)
    count = len(x_batch)
    first = count + len(x_free)
    summed = tuple(range(first, first + len(y_free)))
    (ragged,) = numbers.lhs_ragged_dimensions
    result = lax.ragged_dot_general_p.bind(
        cotangent,
        y,
        sizes,
        ragged_dot_dimension_numbers=lax.RaggedDotDimensionNumbers(
            ((summed, y_free), (tuple(range(count)), y_batch)),
            (count + x_free.index(ragged),),
            groups,
        ),
        **params,
    )
    order = sorted(range(len(x_contracting)), key=y_contracting.__getitem__)
    positions = (*x_batch, *x_free, *(x_contracting[position] for position in order))
    return _arranged(result, positions, aval)


def _cotangent_of_right(
    cotangent: Any, x: Any, aval: Any, sizes: Any, numbers: Any, params: dict[str, Any]
) -> Any:
    """Multiplies, for each group, the transposed rows of ``x`` with the rows of the cotangent."""
    (x_contracting, y_contracting), (x_batch, y_batch) = numbers.dot_dimension_numbers
    (group,) = numbers.rhs_group_dimensions
    x_free = free_dimensions(aval_of(x).ndim, x_contracting, x_batch)
    y_free = free_dimensions(aval.ndim, (*y_contracting, group), y_batch)
    count = len(x_batch)
    rows = tuple(range(count, count + len(x_free)))
    result = lax.ragged_dot_general_p.bind(
        x,
        cotangent,
        sizes,
        ragged_dot_dimension_numbers=lax.RaggedDotDimensionNumbers(
            ((x_free, rows), (x_batch, tuple(range(count)))), numbers.lhs_ragged_dimensions, ()
        ),
        **params,
    )
    # Dimensions of the result: groups, batch, contracted in the order of x, free in y.
    order = sorted(range(len(x_contracting)), key=x_contracting.__getitem__)
    positions = (group, *y_batch, *(y_contracting[position] for position in order), *y_free)
    return _arranged(result, positions, aval)


def _arranged(result: Any, positions: Sequence[int], aval: Any) -> Any:
    """Transposes a factor's cotangent to the order and dtype of the factor.

    Args:
      result: the cotangent, with dimensions in another order.
      positions: for each dimension of ``result``, the corresponding dimension of the factor.
      aval: the type of the factor.
    """
    result = lax.transpose(result, tuple(positions.index(axis) for axis in range(aval.ndim)))
    return result if aval_of(result).dtype == aval.dtype else convert_dtype(result, aval.dtype)
