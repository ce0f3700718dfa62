# SPDX-License-Identifier: Apache-2.0
"""Lowering of Fourier transforms."""

from __future__ import annotations

from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.fft import FftType
from olympus_ir.types import dtypes

from .. import mlir
from ..context import LoweringContext
from ..tables import lowering_rules


@lowering_rules.define(lax.fft_p)
def _fft(
    context: LoweringContext, operand: Any, *, fft_type: FftType, fft_lengths: tuple[int, ...]
) -> Any:
    aval_in, aval = context.avals_in[0], context.aval_out
    kind = mlir.aval_type(aval)
    if 0 in aval.shape or 0 in aval_in.shape:
        return context.full(0, aval.shape, aval.dtype)
    if not fft_lengths:
        return _without_transform(context, operand, aval_in, aval)
    attributes = {
        "fft_type": mlir.parsed(f"#stablehlo<fft_type {fft_type.name}>"),
        "fft_length": mlir.i64_array(fft_lengths),
    }
    return context.create("stablehlo.fft", kind, (operand,), attributes)


def _without_transform(context: LoweringContext, operand: Any, aval_in: Any, aval: Any) -> Any:
    """Lowers a transform over no dimensions, which only converts between dtypes."""
    if aval_in.dtype == aval.dtype:
        return operand
    kind = mlir.aval_type(aval)
    if dtypes.issubdtype(aval.dtype, np.complexfloating):
        zero = context.full(0, aval.shape, aval_in.dtype)
        return context.create("stablehlo.complex", kind, (operand, zero))
    return context.create("stablehlo.real", kind, (operand,))
