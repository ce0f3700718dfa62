# SPDX-License-Identifier: Apache-2.0
"""Products of tangents under the flag ``olympus_strong_zeros``: zero times infinity is zero.

A branch that a `where` does not take has a zero cotangent, but may have an infinite derivative.
Derivative rules treat the product as bilinear. Derivatives of any order are thus
products of the same kind.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.avals import AbstractValue

from .tables import broadcast_to, constant, jvp_rules, partials, product_transpose, transpose_rules
from .zeros import aval_of

__all__ = ["strong_product", "strong_product_p"]

strong_product_p = Primitive("strong_product")
strong_product_p.elementwise = True


@strong_product_p.def_abstract_eval
def _type(x: Any, y: Any) -> AbstractValue:
    # Batching gives shared operands dimensions of size 1.
    larger = x if math.prod(x.shape) >= math.prod(y.shape) and x.shape else y
    shape = np.broadcast_shapes(x.shape, y.shape)
    return larger.update(shape=shape, weak_type=x.weak_type and y.weak_type)


@expansion_rules.define(strong_product_p)
def _product(x: Any, y: Any) -> Any:
    value = lax.mul_p.bind(x, y, out_dtype=None)
    zero = broadcast_to(constant(0, value), aval_of(value).shape)
    x_zero, y_zero = (
        broadcast_to(lax.eq_p.bind(operand, constant(0, operand)), aval_of(value).shape)
        for operand in (x, y)
    )
    return lax.select_n_p.bind(lax.or_p.bind(x_zero, y_zero), value, zero)


def strong_product(x: Any, y: Any) -> Any:
    """Returns the product of two arrays of equal shapes, up to broadcasting.

    The product is zero where a factor is zero, even if the other factor is infinite or NaN.
    """
    shape = aval_of(x).shape
    if shape != aval_of(y).shape:
        shape = np.broadcast_shapes(shape, aval_of(y).shape)
    return strong_product_p.bind(broadcast_to(x, shape), broadcast_to(y, shape))


jvp_rules.define(
    strong_product_p,
    partials(
        lambda t, z, x, y: strong_product(t, y),
        lambda t, z, x, y: strong_product(x, t),
    ),
)
transpose_rules.define(
    strong_product_p,
    product_transpose(
        lambda ct, x, y: strong_product(ct, y),
        lambda ct, x, y: strong_product(x, ct),
    ),
)
