# SPDX-License-Identifier: Apache-2.0
"""Sample of `device_put`, which places arrays on devices."""

from __future__ import annotations

from olympus_ir import lax

from .declarations import BOOLS, NUMBERS, Operand, Operation, sample
from .recording import recorded_params

_matrix = Operand((2, 3))

sample(
    lax.device_put_p,
    Operation(
        "left_where_it_is",
        (_matrix,),
        recorded_params(lax.device_put_p, lambda x: [lax.device_put(x)], _matrix),
        dtypes=NUMBERS + BOOLS,
    ),
)
