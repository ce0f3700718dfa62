# SPDX-License-Identifier: Apache-2.0
"""Derivatives of sums of products."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.contractions.scaled_products import scaled_dot_decomposition
from olympus_ir.lax.elementwise.conversion import convert_dtype
from olympus_ir.types.placement import NamedSharding

from ..forward.jvp import jvp_flat
from ..tables import jvp_rules, transpose_rules
from ..zeros import (
    Zero,
    add_tangents,
    aval_of,
    cotangent_sharding,
    is_undefined_primal,
    whole,
)


@jvp_rules.define(lax.dot_general_p)
def _dot_general_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    (x, y), (tx, ty) = primals, tangents
    dot = lax.dot_general_p.bind
    result = dot(x, y, **params)
    first = tx if tx.__class__ is Zero else dot(tx, y, **params)
    if ty.__class__ is Zero:
        return result, first
    return result, add_tangents(first, dot(x, ty, **params))


@jvp_rules.define(lax.scaled_dot_p)
def _scaled_dot_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    """Jvp rule of scaled products: differentiates the product of the scaled operands."""
    (result,), (tangent,) = jvp_flat(
        lambda *operands: [scaled_dot_decomposition(*operands, **params)], primals, tangents
    )
    return result, tangent


@transpose_rules.define(lax.dot_general_p)
def _dot_general_transpose(
    cotangent: Any, x: Any, y: Any, *, dimension_numbers: Any, precision: Any, **params: Any
) -> list[Any]:
    (x_contracting, y_contracting), (x_batch, y_batch) = dimension_numbers
    if is_undefined_primal(x):
        if is_undefined_primal(y):
            raise ValueError(
                "transposition of a product of two linear values: the function is not linear"
            )
        return [
            _cotangent_of_factor(
                cotangent,
                x.aval,
                y,
                (x_contracting, x_batch),
                (y_contracting, y_batch),
                is_left=True,
                precision=precision,
                **params,
            ),
            None,
        ]
    if isinstance(precision, lax.DotAlgorithm):
        precision = precision.transposed()
    elif isinstance(precision, tuple):
        precision = precision[::-1]
    return [
        None,
        _cotangent_of_factor(
            cotangent,
            y.aval,
            x,
            (y_contracting, y_batch),
            (x_contracting, x_batch),
            is_left=False,
            precision=precision,
            **params,
        ),
    ]


def _cotangent_of_factor(
    cotangent: Any,
    aval: Any,
    other: Any,
    dimensions: tuple[tuple, tuple],
    other_dimensions: tuple[tuple, tuple],
    *,
    is_left: bool,
    precision: Any,
    preferred_element_type: Any,
    out_sharding: Any,
) -> Any:
    """Returns the cotangent of one factor: contracts the result's cotangent with the other factor.

    The dimensions of the result's cotangent are the batch dimensions, the free dimensions of the
    left factor, and the free dimensions of the right factor.
    """
    contracting, batch = dimensions
    other_contracting, other_batch = other_dimensions
    free = free_dimensions(aval.ndim, contracting, batch)
    other_free = free_dimensions(aval_of(other).ndim, other_contracting, other_batch)
    first = len(batch) + (len(free) if is_left else 0)
    summed = tuple(range(first, first + len(other_free)))
    # The dimensions of the result are batch, free and contracted. The contracted dimensions are in
    # the other factor's order.
    order = sorted(range(len(contracting)), key=other_contracting.__getitem__)
    positions = (*batch, *free, *(contracting[position] for position in order))
    sharding = cotangent_sharding(cotangent, aval)
    if sharding is None and aval_of(other).layout is not None:
        sharding = whole(aval_of(other).layout, aval.ndim)
    if sharding is not None:
        entries = sharding.spec.partitions + (None,) * (aval.ndim - len(sharding.spec))
        in_order = tuple(entries[position] for position in positions)
        sharding = NamedSharding(sharding.mesh, sharding.spec.update(partitions=in_order))
    result = lax.dot_general_p.bind(
        cotangent,
        other,
        dimension_numbers=((summed, other_free), (tuple(range(len(batch))), other_batch)),
        precision=precision,
        preferred_element_type=preferred_element_type,
        out_sharding=sharding,
    )
    result = lax.transpose(result, tuple(positions.index(axis) for axis in range(aval.ndim)))
    if aval_of(result).dtype != aval.dtype:
        result = convert_dtype(result, aval.dtype)
    return result


def free_dimensions(ndim: int, contracting: Sequence[int], batch: Sequence[int]) -> tuple[int, ...]:
    """Returns the dimensions that are neither contracted nor batch dimensions."""
    used = {*contracting, *batch}
    return tuple(axis for axis in range(ndim) if axis not in used)
