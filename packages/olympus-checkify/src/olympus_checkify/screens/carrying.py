# SPDX-License-Identifier: Apache-2.0
"""The rules of `carrying_rules`: operations that propagate elements that are not finite.

The test of these rules runs each operation on operands with one erroneous element.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from olympus_autodiff.rematerialization.policies import name_p
from olympus_ir import lax
from olympus_ir.lax.calls.primitives import optimization_barrier_p
from olympus_ir.lax.elementwise.arithmetic import add_any_p
from olympus_ir.lax.elementwise.conversion import stage_p, stop_gradient_p
from olympus_ir.lax.shaping.rearrangement import stack_p, unstack_p
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.programs.primitives import Primitive

from .tables import Carried, Case, carrying_rules

__all__: list[str] = []

_ALL = Carried()
_NAN = Carried(infinities=False)


def _define(primitives: Sequence[Primitive], *entries: Carried | None) -> None:
    for primitive in primitives:
        carrying_rules.define(primitive, lambda equation, bounds_checked: entries)


# ---- elementwise ----

_define((lax.add_p, lax.sub_p, lax.mul_p, add_any_p, lax.complex_p), _ALL, _ALL)
_define((lax.div_p, lax.rem_p), _ALL, _NAN)
_define((lax.max_p, lax.min_p, lax.atan2_p), _NAN, _NAN)
_define(
    (
        lax.abs_p,
        lax.acos_p,
        lax.acosh_p,
        lax.asin_p,
        lax.asinh_p,
        lax.atanh_p,
        lax.cbrt_p,
        lax.ceil_p,
        lax.conj_p,
        lax.copy_p,
        lax.cos_p,
        lax.cosh_p,
        lax.floor_p,
        lax.log1p_p,
        lax.log_p,
        lax.neg_p,
        lax.round_p,
        lax.sin_p,
        lax.sinh_p,
        lax.sqrt_p,
        lax.square_p,
        lax.tan_p,
        name_p,
        stage_p,
        stop_gradient_p,
    ),
    _ALL,
)
_define(
    (
        lax.atan_p,
        lax.erf_p,
        lax.erfc_p,
        lax.exp2_p,
        lax.exp_p,
        lax.expm1_p,
        lax.logistic_p,
        lax.rsqrt_p,
        lax.sign_p,
        lax.tanh_p,
    ),
    _NAN,
)


@carrying_rules.define(lax.integer_pow_p)
def _integer_pow(equation: Equation, bounds_checked: bool) -> Sequence[Carried | None]:
    exponent = equation.params["y"]
    return [_ALL if exponent > 0 else _NAN if exponent < 0 else None]


# ---- shapes, orders and parts ----

_define(
    (
        lax.broadcast_in_dim_p,
        lax.convert_element_type_p,
        lax.reduce_precision_p,
        lax.reshape_p,
        lax.rev_p,
        lax.squeeze_p,
        lax.tile_p,
        lax.transpose_p,
    ),
    _ALL,
)
_define((lax.dynamic_update_slice_p,), None, _ALL)


def _all_operands(equation: Equation, bounds_checked: bool) -> Sequence[Carried | None]:
    return [_ALL] * len(equation.invars)


def _each_in_its_place(equation: Equation, bounds_checked: bool) -> Sequence[Carried | None]:
    return [Carried((position,)) for position in range(len(equation.invars))]


def _in_parts(equation: Equation, bounds_checked: bool) -> Sequence[Carried | None]:
    return [Carried(tuple(range(len(equation.outvars))))]


for _primitive, _rule in (
    (lax.concatenate_p, _all_operands),
    (stack_p, _all_operands),
    (lax.sort_p, _each_in_its_place),
    (optimization_barrier_p, _each_in_its_place),
    (lax.split_p, _in_parts),
    (unstack_p, _in_parts),
):
    carrying_rules.define(_primitive, _rule)


@carrying_rules.define(lax.pad_p)
def _pad(equation: Equation, bounds_checked: bool) -> Sequence[Carried | None]:
    crops = any(low < 0 or high < 0 for low, high, _ in equation.params["padding_config"])
    return [None if crops else _ALL, None]


@carrying_rules.define(lax.scatter_add_p)
def _scatter_add(equation: Equation, bounds_checked: bool) -> Sequence[Carried | None]:
    # An update out of bounds is dropped. If bounds are checked, its index is reported instead.
    return [_ALL, None, _ALL if bounds_checked else None]


@carrying_rules.define(lax.slice_p)
def _slice(equation: Equation, bounds_checked: bool) -> Sequence[Carried | None]:
    params = equation.params
    strides = params["strides"] or [1] * len(params["start_indices"])
    bounds = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return [Carried(part=tuple(slice(*bound) for bound in bounds))]


@carrying_rules.define(lax.select_n_p)
def _select(equation: Equation, bounds_checked: bool) -> Sequence[Carried | None]:
    which, *cases = equation.invars
    count = len(cases)
    return [None, *(Carried(part=Case(which, index, count)) for index in range(count))]


# ---- sums and products ----

_define((lax.reduce_sum_p, lax.reduce_prod_p, lax.cumsum_p, lax.cumprod_p), _ALL)
_define((lax.dot_general_p,), _ALL, _ALL)


@carrying_rules.define(lax.conv_general_dilated_p)
def _convolution(equation: Equation, bounds_checked: bool) -> Sequence[Carried | None]:
    numbers, params = equation.params["dimension_numbers"], equation.params
    shapes = [var.aval.shape for var in (*equation.invars, *equation.outvars)]
    specs = (numbers.lhs_spec, numbers.rhs_spec, numbers.out_spec)
    sizes = [[shape[d] for d in spec[2:]] for shape, spec in zip(shapes, specs, strict=True)]
    names = ("window_strides", "padding", "lhs_dilation", "rhs_dilation")
    image_in_use, kernel_in_use = True, True
    for image, kernel, result, stride, pads, dilation, kernel_dilation in zip(
        *sizes, *(params[name] for name in names), strict=True
    ):
        # The position of each tap of the kernel in the dilated image, for each element of the
        # result.
        taps = np.arange(kernel) * kernel_dilation - pads[0]
        position = np.arange(result)[:, None] * stride + taps
        met = (position >= 0) & (position % dilation == 0) & (position // dilation < image)
        kernel_in_use &= bool(met.any(0).all())
        image_in_use &= len(np.unique(position[met] // dilation)) == image
    return [_ALL if image_in_use else None, _ALL if kernel_in_use else None]
