# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of elementwise primitives."""

from __future__ import annotations

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.elementwise.arithmetic import RoundingMethod

from .declarations import (
    BOOLS,
    COMPLEXES,
    FLOATS,
    INTEGERS,
    NUMBERS,
    SIGNED_INTEGERS,
    Binary,
    Operand,
    Operation,
    Unary,
    sample,
    samples,
)

# ---- arithmetic ----

sample(lax.neg_p, Unary(dtypes=NUMBERS))
sample(
    lax.sign_p,
    Unary(domain=(0.2, 2.0), dtypes=FLOATS + INTEGERS),
    # The derivative is defined as zero, which differs from finite differences on complex numbers.
    Unary(dtypes=COMPLEXES, differentiable=False),
)
sample(lax.abs_p, Unary(domain=(0.2, 2.0), dtypes=FLOATS + COMPLEXES + SIGNED_INTEGERS))
sample(lax.square_p, Unary(dtypes=NUMBERS))
sample(lax.add_p, Binary(dtypes=NUMBERS))
sample(lax.sub_p, Binary(dtypes=NUMBERS))
sample(lax.add_any_p, Operation("matrices", (Operand((2, 3)), Operand((2, 3))), dtypes=NUMBERS))
sample(
    lax.mul_p,
    Binary(dtypes=NUMBERS, params={"out_dtype": None}),
    Operation(
        "wider",
        (Operand((3,), dtype=np.int8), Operand((3,), dtype=np.int8)),
        {"out_dtype": np.dtype(np.int32)},
        dtypes=(np.int32,),
    ),
)
sample(
    lax.div_p,
    Binary(second_domain=(0.5, 2.0), dtypes=FLOATS + COMPLEXES),
    Operation(
        "integers",
        (Operand((4, 5), (-9, 9)), Operand((4, 5), (-3, 3))),
        dtypes=INTEGERS,
        differentiable=False,
    ),
)
sample(
    lax.rem_p,
    Binary(second_domain=(0.6, 0.9), dtypes=FLOATS, special_values=False),
    Operation(
        "integers",
        (Operand((4, 5), (-9, 9)), Operand((4, 5), (-3, 3))),
        dtypes=INTEGERS,
        differentiable=False,
    ),
)
for _primitive in (lax.max_p, lax.min_p):
    sample(
        _primitive,
        Binary(dtypes=FLOATS + INTEGERS + BOOLS),
        Binary(dtypes=COMPLEXES, differentiable=False),
    )
sample(
    lax.integer_pow_p,
    *(
        Operation(f"power_{y}", (Operand((2, 3), (0.5, 1.5)),), {"y": y}, dtypes=FLOATS + COMPLEXES)
        for y in (-2, -1, 0, 1, 2, 3, 7)
    ),
    Operation("integers", (Operand((5,), (-3, 3)),), {"y": 3}, dtypes=INTEGERS),
)
sample(
    lax.pow_p,
    Binary(domain=(0.5, 2.0), second_domain=(-2.0, 2.0), dtypes=FLOATS + COMPLEXES),
    Binary(
        domain=(0.5, 2.0),
        second_domain=(-3, 3),
        second_dtype=np.int32,
        differentiable=(0,),
        special_values=False,
        prefix="integer_exponent_",
    ),
)
sample(lax.nextafter_p, Binary(dtypes=(np.float32, np.float64), differentiable=False))

# ---- rounding ----

sample(lax.floor_p, Unary(domain=(0.1, 0.9)), Operation("both_signs", (Operand((9,), (-4, 4)),)))
sample(lax.ceil_p, Unary(domain=(0.1, 0.9)), Operation("both_signs", (Operand((9,), (-4, 4)),)))
sample(
    lax.round_p,
    *(
        declaration
        for method in RoundingMethod
        for declaration in (
            Unary(
                domain=(0.6, 0.9),
                params={"rounding_method": method},
                prefix=f"{method.name.lower()}_",
            ),
            Operation(
                f"halfway_{method.name.lower()}",
                (np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 0.49999997], np.float32),),
                {"rounding_method": method},
                dtypes=(np.float32,),
            ),
        )
    ),
)
sample(lax.is_finite_p, Unary(differentiable=False))

# ---- mathematical functions ----

_accuracy = {"accuracy": None}
sample(lax.exp_p, Unary(dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.exp2_p, Unary(dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.expm1_p, Unary(dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.log_p, Unary(domain=(0.2, 4.0), dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.log1p_p, Unary(domain=(-0.5, 2.0), dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.logistic_p, Unary(dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.sqrt_p, Unary(domain=(0.2, 4.0), dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.rsqrt_p, Unary(domain=(0.2, 4.0), dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.cbrt_p, Unary(domain=(0.1, 8.0), params=_accuracy))
sample(lax.sin_p, Unary(dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.cos_p, Unary(dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.tan_p, Unary(domain=(-1.2, 1.2), dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.tanh_p, Unary(domain=(-1.2, 1.2), dtypes=FLOATS + COMPLEXES, params=_accuracy))
sample(lax.asin_p, Unary(domain=(-0.8, 0.8), dtypes=FLOATS + COMPLEXES))
sample(lax.acos_p, Unary(domain=(-0.8, 0.8), dtypes=FLOATS + COMPLEXES))
sample(lax.atan_p, Unary(domain=(0.1, 0.8), dtypes=FLOATS + COMPLEXES))
sample(lax.sinh_p, Unary(dtypes=FLOATS + COMPLEXES))
sample(lax.cosh_p, Unary(dtypes=FLOATS + COMPLEXES))
sample(lax.asinh_p, Unary(domain=(0.1, 0.8), dtypes=FLOATS + COMPLEXES))
sample(lax.acosh_p, Unary(domain=(1.2, 3.0), dtypes=FLOATS + COMPLEXES))
sample(lax.atanh_p, Unary(domain=(-0.8, 0.8), dtypes=FLOATS + COMPLEXES))
sample(lax.atan2_p, Binary(domain=(0.2, 2.0)))
sample(lax.erf_p, Unary())
sample(lax.erfc_p, Unary())
sample(lax.erf_inv_p, Unary(domain=(-0.9, 0.9)))
sample(lax.lgamma_p, Unary(domain=(0.3, 4.0)))
# The value of digamma at its pole at zero is not tested, because XLA returns NaN up to jaxlib 0.10
# and negative infinity later.
sample(lax.digamma_p, Unary(domain=(0.3, 4.0), special_values=False))

# ---- complex numbers ----

sample(lax.real_p, Unary(dtypes=COMPLEXES))
sample(lax.imag_p, Unary(dtypes=COMPLEXES))
sample(lax.complex_p, Binary(dtypes=(np.float32, np.float64)))
sample(
    lax.conj_p,
    Operation(
        "complex",
        (Operand((2, 3)),),
        lambda dtype: {"input_dtype": dtype},
        dtypes=(*COMPLEXES, np.float32, np.float64),
    ),
)

# ---- comparisons and choices ----

for _primitive in (lax.eq_p, lax.ne_p):
    sample(_primitive, Binary(domain=(-1, 1), dtypes=NUMBERS + BOOLS, differentiable=False))
for _primitive in (lax.lt_p, lax.le_p, lax.gt_p, lax.ge_p):
    sample(
        _primitive, Binary(domain=(-1, 1), dtypes=FLOATS + INTEGERS + BOOLS, differentiable=False)
    )
for _primitive in (lax.eq_to_p, lax.lt_to_p, lax.le_to_p):
    sample(
        _primitive, Binary(domain=(-1, 1), dtypes=FLOATS + INTEGERS + BOOLS, differentiable=False)
    )
sample(
    lax.clamp_p,
    Operation(
        "arrays",
        (Operand((2, 3), (-1.0, -0.5)), Operand((2, 3)), Operand((2, 3), (0.5, 1.0))),
        dtypes=FLOATS + INTEGERS,
    ),
    Operation("scalar_bounds", (Operand((), (-1.0, -0.5)), Operand((2, 3)), Operand((), (0.5, 1)))),
)
sample(
    lax.select_n_p,
    Operation(
        "booleans",
        (Operand((2, 3), dtype=np.bool_), Operand((2, 3)), Operand((2, 3))),
        dtypes=NUMBERS + BOOLS,
        differentiable=(1, 2),
    ),
    Operation(
        "one_boolean",
        (Operand((), dtype=np.bool_), Operand((2, 3)), Operand((2, 3))),
        differentiable=(1, 2),
    ),
    Operation(
        "integers",
        (Operand((2, 3), (0, 2), np.int32), *(Operand((2, 3)),) * 3),
        differentiable=(1, 2, 3),
    ),
    Operation(
        "one_integer",
        (Operand((), (0, 2), np.int32), *(Operand((2, 3)),) * 3),
        differentiable=(1, 2, 3),
    ),
)

# ---- bits ----

for _primitive in (lax.and_p, lax.or_p, lax.xor_p):
    sample(_primitive, Binary((-100, 100), dtypes=INTEGERS + BOOLS, differentiable=False))
sample(lax.not_p, Unary((-100, 100), dtypes=INTEGERS + BOOLS, differentiable=False))
sample(lax.population_count_p, Unary((-100, 100), dtypes=INTEGERS, differentiable=False))
sample(lax.clz_p, Unary((-100, 100), dtypes=INTEGERS, differentiable=False))
sample(lax.mulhi_p, Binary((-(2**62), 2**62), dtypes=INTEGERS, differentiable=False))
for _primitive in (lax.shift_left_p, lax.shift_right_logical_p, lax.shift_right_arithmetic_p):
    sample(
        _primitive,
        Binary((-100, 100), second_domain=(0, 7), dtypes=INTEGERS, differentiable=False),
        Operation(
            "out_of_range",
            (Operand((9,), (-100, 100)), Operand((9,), (-3, 40))),
            dtypes=INTEGERS,
            differentiable=False,
        ),
    )

# ---- changes of dtype ----

sample(
    lax.convert_element_type_p,
    *(
        Operation(
            f"to_{np.dtype(target).name}",
            (Operand((2, 3), (-3.7, 3.7)),),
            {"new_dtype": np.dtype(target), "weak_type": False, "sharding": None},
            dtypes=(np.float32, np.float64, np.int32, np.uint8, np.bool_),
            differentiable=target in (np.float64, np.complex128),
        )
        for target in (np.float32, np.float64, np.float16, np.int32, np.uint8, np.bool_)
    ),
    Operation(
        "to_complex128",
        (Operand((2, 3)),),
        {"new_dtype": np.dtype(np.complex128), "weak_type": False, "sharding": None},
        dtypes=(np.float64, np.complex64),
    ),
    Operation(
        "out_of_range",
        (np.array([1e20, -1e20, np.inf, -np.inf, np.nan, 300.5, -1.5], np.float32),),
        lambda dtype: {"new_dtype": dtype, "weak_type": False, "sharding": None},
        dtypes=(np.int32, np.uint8, np.int8, np.uint32),
        differentiable=False,
    ),
    Operation(
        "wrapping",
        (np.array([300, -1, 2**31 - 1, -(2**31)], np.int32),),
        lambda dtype: {"new_dtype": dtype, "weak_type": False, "sharding": None},
        dtypes=(np.int8, np.uint8, np.uint32, np.float32),
        differentiable=False,
    ),
)
sample(
    lax.bitcast_convert_type_p,
    *(
        Operation(
            f"{np.dtype(source).name}_to_{np.dtype(target).name}",
            (Operand(shape, (-100, 100), source),),
            {"new_dtype": np.dtype(target)},
            dtypes=(source,),
            differentiable=False,
        )
        for source, shape, target in (
            (np.float32, (2, 3), np.int32),
            (np.int32, (2, 3), np.float32),
            (np.float32, (3,), np.uint8),
            (np.uint8, (3, 4), np.uint32),
            (np.int16, (3,), np.float16),
        )
    ),
)
_to_be_rounded = np.array(
    [1.2, -3.7, 1e-5, 1e5, 65520.0, 0.0, -0.0, np.inf, np.nan, 1e-45], np.float32
)
sample(
    lax.reduce_precision_p,
    *(
        Operation(
            f"e{exponent_bits}m{mantissa_bits}",
            (_to_be_rounded,),
            {"exponent_bits": exponent_bits, "mantissa_bits": mantissa_bits},
            dtypes=(np.float32,),
            differentiable=False,
        )
        for exponent_bits, mantissa_bits in ((5, 10), (8, 7), (4, 3), (8, 23), (11, 52))
    ),
    Operation(
        "doubles",
        (Operand((2, 3)),),
        {"exponent_bits": 8, "mantissa_bits": 7},
        dtypes=(np.float64, np.float16),
        differentiable=False,
    ),
)
samples.exempt(
    lax.stage_p, reason="no program contains it: tracing leaves the operand in its place"
)
sample(lax.stored_p, Operation("matrix", (Operand((2, 3)),), dtypes=NUMBERS + BOOLS))
sample(lax.copy_p, Operation("matrix", (Operand((2, 3)),), dtypes=NUMBERS + BOOLS))
# The derivative of `stop_gradient` is defined as zero, so it is not compared.
sample(
    lax.stop_gradient_p,
    Operation("matrix", (Operand((2, 3)),), dtypes=NUMBERS + BOOLS, differentiable=False),
)
for _primitive in (lax.to_edtype_p, lax.from_edtype_p):
    samples.exempt(_primitive, reason="takes an extended dtype, and none is defined in olympus-ir")
