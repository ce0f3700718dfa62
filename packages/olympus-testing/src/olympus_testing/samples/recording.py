# SPDX-License-Identifier: Apache-2.0
"""Parameters that are programs, recorded by tracing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir import trace_to_olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.settings import config
from olympus_ir.types.avals import ShapedArray

from .declarations import Operand

__all__ = ["recorded_params"]


def recorded_params(
    primitive: Primitive, fun: Callable[..., Any], *operands: Operand
) -> Callable[[Any], dict[str, Any]]:
    """Returns a function from the dtype to the parameters of the equation that ``fun`` records.

    Args:
      primitive: the primitive that the function applies once.
      fun: a function of the operands that returns a sequence of results.
      *operands: the operands of the function.
    """

    def params(dtype: Any) -> dict[str, Any]:
        avals = [
            ShapedArray(operand.shape, np.dtype(dtype if operand.dtype is None else operand.dtype))
            for operand in operands
        ]
        with config.enable_x64(True):
            program, _ = trace_to_olympuspr(lambda *args: list(fun(*args)), avals)
        (equation,) = [equation for equation in program.eqns if equation.primitive is primitive]
        return equation.params

    return params
