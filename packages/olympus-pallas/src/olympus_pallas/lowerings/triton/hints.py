# SPDX-License-Identifier: Apache-2.0
"""Triton lowering of program indices, hints, debug prints and inline assembly."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_xla.compiling.lowering import mlir

from ...grids.program_ids import num_programs_p, program_id_p
from ...mlir.attributes import i32_array
from ...mlir.building import element_type, is_unsigned
from ...mlir.elementwise import divide
from ...mlir.tables import triton_rules
from ...operations.debugging import debug_check_p
from ...operations.hints import (
    broadcast_to_p,
    debug_barrier_p,
    elementwise_inline_asm_p,
    empty_p,
    max_contiguous_p,
    multiple_of_p,
    reciprocal_p,
)
from .builder import TritonBuilder


@triton_rules.define(program_id_p)
def _program_id(builder: TritonBuilder, *, axis: int) -> Any:
    return builder.kernel.program_ids[axis]


@triton_rules.define(num_programs_p)
def _num_programs(builder: TritonBuilder, *, axis: int) -> Any:
    return builder.int32(builder.kernel.grid[axis])


def _hinted(attribute: str) -> Any:
    """Returns the rule of a hint: it sets an attribute of the operation that made the integers."""

    def rule(builder: TritonBuilder, x: Any, *, values: Sequence[int]) -> Any:
        owner = x.owner
        if hasattr(owner, "attributes"):  # arguments of blocks have no attributes
            kind = mlir.ir.RankedTensorType.get(
                [len(values)], element_type(np.dtype(np.int32)), loc=mlir.unknown_location()
            )
            owner.attributes[attribute] = mlir.ir.DenseIntElementsAttr.get(
                np.asarray(values, np.int32), type=kind
            )
        return x

    return rule


triton_rules.define(multiple_of_p, _hinted("tt.divisibility"))
triton_rules.define(max_contiguous_p, _hinted("tt.contiguity"))


@triton_rules.define(reciprocal_p)
def _reciprocal(builder: TritonBuilder, x: Any, **params: Any) -> Any:
    aval = builder.aval_out
    return divide(builder, builder.full(1, aval.shape, aval.dtype), x, aval.dtype)


@triton_rules.define(broadcast_to_p)
def _broadcast_to(builder: TritonBuilder, x: Any, *, shape: Sequence[int]) -> Any:
    for _ in range(len(shape) - len(builder.shape_of(x)) if builder.shape_of(x) else 0):
        x = builder.expand_dims(x, 0)
    return builder.broadcast_to(x, shape)


@triton_rules.define(empty_p)
def _empty(builder: TritonBuilder, **params: Any) -> Any:
    aval = builder.aval_out
    return builder.full(0, aval.shape, aval.dtype)


@triton_rules.define(debug_barrier_p)
def _debug_barrier(builder: TritonBuilder) -> list[Any]:
    builder.operation("gpu.barrier", [])
    return []


@triton_rules.define(elementwise_inline_asm_p)
def _elementwise_inline_asm(
    builder: TritonBuilder,
    *operands: Any,
    asm: str,
    constraints: str,
    pack: int,
    result_shape_dtypes: Any,
) -> list[Any]:
    types = [builder.value_type(var.aval) for var in builder.equation.outvars]
    attributes = {
        "asm_string": mlir.string(asm),
        "constraints": mlir.string(constraints),
        "pure": mlir.boolean(True),
        "packed_element": mlir.i32(pack),
    }
    return list(builder.operation("tt.elementwise_inline_asm", types, operands, attributes).results)


@triton_rules.define(lax.debug_print_p)
def _debug_print(builder: TritonBuilder, *operands: Any, fmt: str, **params: Any) -> list[Any]:
    if params.get("has_placeholders") and "{" in fmt.replace("{}", ""):
        raise ValueError(
            "the Triton lowering of kernels prints formats without placeholders, or the format "
            f"'{{}}', got {fmt!r}"
        )
    attributes = {
        "prefix": mlir.string(f" {fmt.replace('{}', '').rstrip()} "),
        "hex": mlir.boolean(False),
        "isSigned": i32_array([not is_unsigned(aval.dtype) for aval in builder.avals_in]),
    }
    builder.operation("tt.print", [], operands, attributes)
    return []


@triton_rules.define(debug_check_p)
def _debug_check(builder: TritonBuilder, condition: Any, *, message: str) -> list[Any]:
    builder.operation("tt.assert", [], (condition,), {"message": mlir.string(message)})
    return []
