# SPDX-License-Identifier: Apache-2.0
"""Sample inputs of callbacks and debug prints."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types.shape_struct import ShapeDtypeStruct

from .declarations import Operand, Operation, sample, samples
from .recording import recorded_params

_vector = Operand((3,))


def _hypotenuse(x: Any, y: Any) -> Any:
    return np.hypot(x, y)


def _call(vmap_method: str) -> Operation:
    def fun(x: Any, y: Any) -> list[Any]:
        result = ShapeDtypeStruct(x.shape, x.dtype)
        return [lax.pure_callback(_hypotenuse, result, x, y, vmap_method=vmap_method)]

    # Callbacks are not traced, so their derivatives are unknown.
    return Operation(
        vmap_method,
        (_vector, _vector),
        recorded_params(lax.pure_callback_p, fun, _vector, _vector),
        dtypes=(np.float32, np.float64),
        differentiable=False,
    )


sample(
    lax.pure_callback_p,
    *map(_call, ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all")),
)

for _primitive in (lax.debug_callback_p, lax.debug_print_p):
    samples.exempt(_primitive, reason="has no result; what it does is a side effect")
samples.exempt(
    lax.io_callback_p, reason="its result is one of side effects, and may differ in each run"
)
