# SPDX-License-Identifier: Apache-2.0
"""Classes of operations by how XLA's CPU compiler fuses them, and by how much they cost.

The passes over programs that precede the compiler estimate its work from these classes.
"""

from __future__ import annotations

from olympus_ir import lax
from olympus_ir.programs.olympuspr import Equation

__all__ = ["EXPENSIVE", "FUSED_FAMILIES", "MOVING", "is_elementwise_product"]

#: Families of operations that the compiler fuses. Of constraints, partitioning leaves nothing.
FUSED_FAMILIES = frozenset(
    {"elementwise", "shaping", "indexing", "reductions", "special", "constraints"}
)
#: Operations that the compiler does not duplicate: it stores results that have several uses.
EXPENSIVE = frozenset(
    {
        *(lax.sin_p, lax.cos_p, lax.tan_p, lax.asin_p, lax.acos_p, lax.atan_p, lax.atan2_p),
        *(lax.sinh_p, lax.cosh_p, lax.tanh_p, lax.asinh_p, lax.acosh_p, lax.atanh_p),
        *(lax.exp_p, lax.exp2_p, lax.expm1_p, lax.log_p, lax.log1p_p, lax.logistic_p),
        *(lax.pow_p, lax.sqrt_p, lax.rsqrt_p, lax.cbrt_p, lax.div_p, lax.rem_p),
        *(lax.erf_p, lax.erfc_p, lax.erf_inv_p, lax.lgamma_p, lax.digamma_p),
    }
)
#: Operations that take elements from other positions of their operands.
MOVING = frozenset(
    {
        *(lax.concatenate_p, lax.pad_p, lax.rev_p, lax.slice_p, lax.split_p, lax.transpose_p),
        *(lax.dynamic_slice_p, lax.dynamic_update_slice_p, lax.gather_p),
    }
)


def is_elementwise_product(equation: Equation) -> bool:
    """Returns whether an equation is a `dot_general` that contracts no dimensions."""
    if equation.primitive is not lax.dot_general_p:
        return False
    contracted, _ = equation.params["dimension_numbers"]
    return not contracted[0]
