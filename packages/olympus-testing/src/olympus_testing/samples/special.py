# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of special functions, such as `zeta` and `igamma`."""

from __future__ import annotations

import numpy as np

from olympus_ir import lax

from .declarations import Binary, Operand, Operation, Unary, sample

_doubles = (np.float64,)
_floats = (np.float32, np.float64)

for _primitive in (lax.igamma_p, lax.igammac_p):
    sample(
        _primitive,
        Binary(domain=(0.3, 4.0), second_domain=(0.2, 6.0), special_values=False),
        Operation("large", (Operand((3, 4), (120.0, 300.0)), Operand((3, 4), (100.0, 320.0)))),
        Operation("small", (Operand((3, 4), (1e-3, 0.5)), Operand((3, 4), (1e-3, 1.0)))),
    )
# The derivatives of these primitives are loops, which have forward mode only. So second derivatives
# have forward mode only.
for _primitive in (lax.igamma_grad_a_p, lax.random_gamma_grad_p):
    sample(
        _primitive,
        Binary(domain=(0.3, 4.0), second_domain=(0.2, 6.0), special_values=False, order=1),
        Operation(
            "large",
            (Operand((3, 4), (120.0, 300.0)), Operand((3, 4), (100.0, 320.0))),
            dtypes=_doubles,
            order=1,
        ),
    )
sample(
    lax.zeta_p,
    Binary(
        domain=(1.5, 4.0),
        second_domain=(0.5, 5.0),
        special_values=False,
        differentiable=(1,),
    ),
)
sample(
    lax.polygamma_p,
    Operation(
        "orders",
        (np.arange(4.0, dtype=np.float64)[:, None], Operand((4, 3), (0.5, 4.0), np.float64)),
        dtypes=_doubles,
        differentiable=(1,),
    ),
    Operation(
        "single",
        (np.float32(2.0), Operand((2, 3), (0.5, 4.0))),
        dtypes=(np.float32,),
    ),
)
for _primitive in (lax.bessel_i0e_p, lax.bessel_i1e_p):
    sample(
        _primitive,
        Unary(domain=(0.2, 4.0)),
        Operation("both_signs", (Operand((11,), (-40.0, 40.0)),), dtypes=_floats),
    )
sample(
    lax.regularized_incomplete_beta_p,
    Operation(
        "arrays",
        (Operand((2, 3), (0.4, 4.0)), Operand((2, 3), (0.4, 4.0)), Operand((2, 3), (0.1, 0.9))),
        dtypes=_floats,
        differentiable=(2,),
    ),
    Operation(
        "scalars_and_array",
        (Operand((), (20.0, 90.0)), Operand((), (20.0, 90.0)), Operand((2, 3), (0.1, 0.9))),
        dtypes=_floats,
        differentiable=(2,),
    ),
)
