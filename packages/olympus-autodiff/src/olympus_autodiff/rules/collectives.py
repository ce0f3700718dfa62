# SPDX-License-Identifier: Apache-2.0
"""Derivative rules of collectives. Sums and exchanges over a named axis are linear."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.lax.collectives.named_axes import is_positional
from olympus_ir.lax.elementwise.conversion import convert_dtype

from ..tables import broadcast_to, jvp_rules, linear, transpose_rules, unary_transpose
from ..zeros import aval_of, zeros_like_aval
from .elementwise import product

LINEAR = (
    lax.psum_p,
    lax.all_gather_p,
    lax.reduce_scatter_p,
    lax.ppermute_p,
    lax.pbroadcast_p,
    lax.all_to_all_p,
    lax.psum_invariant_p,
    lax.pvary_p,
)

for _primitive in LINEAR:
    jvp_rules.define(_primitive, linear)
jvp_rules.exempt(lax.axis_index_p, reason="has no operands")


def _extremum_jvp(primitive: Any) -> Callable[..., Any]:
    """Returns the jvp rule of a collective extremum.

    The tangent is the mean of the tangents of the devices where the extremum is attained.
    """

    def rule(primals: Sequence[Any], tangents: Sequence[Any], *, axes: tuple, **params: Any) -> Any:
        (x,), (t,) = primals, tangents
        y = primitive.bind(x, axes=axes, **params)
        aval = aval_of(x)
        kept_shape = _with_positional_axes(aval.shape, axes)
        attained = convert_dtype(lax.eq_p.bind(x, lax.reshape(y, kept_shape)), aval.dtype)
        # Call `lax.psum`, not its primitive: the function chooses the kind of sum by the axes over
        # which the type varies.
        total = lax.psum(product(t, attained), axes, **params)
        return y, lax.div_p.bind(total, lax.psum(attained, axes, **params))

    return rule


for _primitive in (lax.pmax_p, lax.pmin_p):
    jvp_rules.define(_primitive, _extremum_jvp(_primitive))


def _with_positional_axes(shape: tuple, axes: tuple) -> tuple[int, ...]:
    """Returns the shape with size 1 in the dimensions that a collective reduces."""
    reduced = {axis % len(shape) for axis in axes if is_positional(axis)}
    return tuple(1 if axis in reduced else size for axis, size in enumerate(shape))


def _psum_transpose(cotangent: Any, aval: Any, *, axes: tuple, axis_index_groups: Any) -> Any:
    named = tuple(axis for axis in axes if not is_positional(axis))
    if named:
        cotangent = lax.psum_p.bind(cotangent, axes=named, axis_index_groups=axis_index_groups)
    if len(named) < len(axes):
        cotangent = lax.reshape(cotangent, _with_positional_axes(aval.shape, axes))
    return broadcast_to(cotangent, aval.shape)


def _psum_invariant_transpose(
    cotangent: Any, aval: Any, *, axes: tuple, axis_index_groups: Any = None
) -> Any:
    return lax.pvary_p.bind(cotangent, axes=axes)


def _pvary_transpose(cotangent: Any, aval: Any, *, axes: tuple) -> Any:
    return lax.psum_invariant_p.bind(cotangent, axes=axes)


def _all_gather_transpose(
    cotangent: Any, aval: Any, *, all_gather_dimension: int, **params: Any
) -> Any:
    return lax.reduce_scatter_p.bind(cotangent, scatter_dimension=all_gather_dimension, **params)


def _reduce_scatter_transpose(
    cotangent: Any, aval: Any, *, scatter_dimension: int, **params: Any
) -> Any:
    return lax.all_gather_p.bind(cotangent, all_gather_dimension=scatter_dimension, **params)


def _ppermute_transpose(cotangent: Any, aval: Any, *, perm: tuple, axis_name: Any) -> Any:
    inverse = tuple((destination, source) for source, destination in perm)
    return lax.ppermute_p.bind(cotangent, perm=inverse, axis_name=axis_name)


def _all_to_all_transpose(
    cotangent: Any, aval: Any, *, split_axis: int, concat_axis: int, **params: Any
) -> Any:
    return lax.all_to_all_p.bind(
        cotangent, split_axis=concat_axis, concat_axis=split_axis, **params
    )


def _pbroadcast_transpose(cotangent: Any, aval: Any, *, axis_name: Any, source: int) -> Any:
    total = lax.psum(cotangent, axis_name)
    is_source = lax.eq_p.bind(lax.axis_index(axis_name), lax.full((), source, "int32"))
    return lax.select_n_p.bind(is_source, zeros_like_aval(aval), total)


transpose_rules.define(lax.psum_invariant_p, unary_transpose(_psum_invariant_transpose))
transpose_rules.define(lax.pvary_p, unary_transpose(_pvary_transpose))
transpose_rules.define(lax.psum_p, unary_transpose(_psum_transpose))
transpose_rules.define(lax.all_gather_p, unary_transpose(_all_gather_transpose))
transpose_rules.define(lax.reduce_scatter_p, unary_transpose(_reduce_scatter_transpose))
transpose_rules.define(lax.ppermute_p, unary_transpose(_ppermute_transpose))
transpose_rules.define(lax.all_to_all_p, unary_transpose(_all_to_all_transpose))
transpose_rules.define(lax.pbroadcast_p, unary_transpose(_pbroadcast_transpose))
