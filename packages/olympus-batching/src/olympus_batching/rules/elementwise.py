# SPDX-License-Identifier: Apache-2.0
"""Batching of elementwise operations: they are the same with one dimension more."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax
from olympus_ir.types.dtypes import itemsize_bits

from ..tables import (
    batching_rules,
    elementwise,
    move_dim,
    same_shape_elementwise,
    to_front,
    unary,
)

for _primitive in (
    lax.neg_p,
    lax.sign_p,
    lax.floor_p,
    lax.ceil_p,
    lax.round_p,
    lax.is_finite_p,
    lax.exp_p,
    lax.exp2_p,
    lax.log_p,
    lax.log1p_p,
    lax.expm1_p,
    lax.tanh_p,
    lax.logistic_p,
    lax.sin_p,
    lax.cos_p,
    lax.tan_p,
    lax.asin_p,
    lax.acos_p,
    lax.atan_p,
    lax.sinh_p,
    lax.cosh_p,
    lax.asinh_p,
    lax.acosh_p,
    lax.atanh_p,
    lax.sqrt_p,
    lax.rsqrt_p,
    lax.cbrt_p,
    lax.square_p,
    lax.abs_p,
    lax.real_p,
    lax.imag_p,
    lax.conj_p,
    lax.integer_pow_p,
    lax.not_p,
    lax.population_count_p,
    lax.clz_p,
    lax.convert_element_type_p,
    lax.stage_p,
    lax.stop_gradient_p,
    lax.reduce_precision_p,
    lax.erf_p,
    lax.erfc_p,
    lax.erf_inv_p,
    lax.lgamma_p,
    lax.digamma_p,
    lax.copy_p,
):
    batching_rules.define(_primitive, unary(_primitive))

for _primitive in (
    lax.complex_p,
    lax.add_p,
    lax.sub_p,
    lax.mul_p,
    lax.div_p,
    lax.rem_p,
    lax.max_p,
    lax.min_p,
    lax.pow_p,
    lax.atan2_p,
    lax.nextafter_p,
    lax.and_p,
    lax.or_p,
    lax.xor_p,
    lax.shift_left_p,
    lax.shift_right_logical_p,
    lax.shift_right_arithmetic_p,
    lax.eq_p,
    lax.ne_p,
    lax.lt_p,
    lax.le_p,
    lax.gt_p,
    lax.ge_p,
    lax.eq_to_p,
    lax.lt_to_p,
    lax.le_to_p,
    lax.mulhi_p,
    lax.add_any_p,
):
    batching_rules.define(_primitive, elementwise(_primitive))

# The predicate may be a scalar, the cases have one shape.
batching_rules.define(lax.select_n_p, same_shape_elementwise(lax.select_n_p, scalars=(0,)))
# The bounds may be scalars, the operand has the shape of the result.
batching_rules.define(lax.clamp_p, same_shape_elementwise(lax.clamp_p, scalars=(0, 2)))


@batching_rules.define(lax.bitcast_convert_type_p)
def _bitcast_convert_type(axis_size: int, args: Any, batch_dims: Any, *, new_dtype: Any) -> Any:
    (operand,), (dim,) = args, batch_dims
    # From a narrow to a wide type, the last dimension is consumed.
    if itemsize_bits(operand.dtype) < itemsize_bits(new_dtype) and dim == operand.ndim - 1:
        operand, dim = move_dim(operand, dim, 0), 0
    return lax.bitcast_convert_type_p.bind(operand, new_dtype=new_dtype), dim


# The last dimensions of the plain array are those of an element.


@batching_rules.define(lax.to_edtype_p)
def _to_edtype(axis_size: int, args: Any, batch_dims: Any, *, edtype: Any) -> Any:
    return lax.to_edtype_p.bind(to_front(args[0], batch_dims[0]), edtype=edtype), 0


batching_rules.define(lax.from_edtype_p, unary(lax.from_edtype_p))
