# SPDX-License-Identifier: Apache-2.0
"""Mosaic lowering of program indices, hints and debug prints."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax
from olympus_xla.compiling.lowering import mlir

from ...grids.program_ids import num_programs_p, program_id_p
from ...mlir.building import element_type
from ...mlir.elementwise import cast
from ...mlir.tables import mosaic_rules
from ...operations.debugging import debug_check_p
from ...operations.hints import broadcast_to_p, delay_p, empty_p, multiple_of_p, reciprocal_p
from ...tpu.vector_unit import bitcast_p, prng_random_bits_p, prng_seed_p, roll_p, touch_p
from .builder import MosaicBuilder
from .mathematics import _FLOAT32


@mosaic_rules.define(program_id_p)
def _program_id(builder: MosaicBuilder, *, axis: int) -> Any:
    return builder.kernel.program_ids[axis]


@mosaic_rules.define(num_programs_p)
def _num_programs(builder: MosaicBuilder, *, axis: int) -> Any:
    size = builder.kernel.grid[axis]
    if isinstance(size, int):
        return builder.int32(size)
    return builder.create("tpu.iteration_bound", builder.int32(0).type, (), {"dim": mlir.i32(axis)})


@mosaic_rules.define(multiple_of_p)
def _multiple_of(builder: MosaicBuilder, x: Any, *, values: Sequence[int]) -> Any:
    (multiple,) = values
    return builder.create("tpu.assume_multiple", x.type, (x,), {"multiple": mlir.i32(multiple)})


@mosaic_rules.define(reciprocal_p)
def _reciprocal(builder: MosaicBuilder, x: Any, *, approx: bool, full_range: bool) -> Any:
    aval = builder.aval_out
    if not aval.shape:
        return builder.binary("arith.divf", builder.full(1, (), aval.dtype), x)
    wide = cast(builder, x, aval.dtype, _FLOAT32)
    kind = builder.like(wide, element_type(_FLOAT32))
    attributes = {"approx": mlir.boolean(approx), "full_range": mlir.boolean(full_range)}
    result = builder.create("tpu.reciprocal", kind, (wide,), attributes)
    return cast(builder, result, _FLOAT32, aval.dtype)


@mosaic_rules.define(broadcast_to_p)
def _broadcast_to(builder: MosaicBuilder, x: Any, *, shape: Sequence[int]) -> Any:
    return builder.broadcast_to(x, shape)


@mosaic_rules.define(empty_p)
def _empty(builder: MosaicBuilder, **params: Any) -> Any:
    aval = builder.aval_out
    return builder.full(0, aval.shape, aval.dtype)


@mosaic_rules.define(delay_p)
def _delay(builder: MosaicBuilder, nanos: Any) -> list[Any]:
    builder.operation("tpu.delay", [], (nanos,))
    return []


@mosaic_rules.define(lax.debug_print_p)
def _debug_print(builder: MosaicBuilder, *operands: Any, fmt: str, **params: Any) -> list[Any]:
    formatted = "{}" in fmt
    if formatted:
        for index in range(len(operands)):
            fmt = fmt.replace("{}", f"${index}", 1)
    attributes = {"tag": mlir.string(fmt), "formatted": mlir.boolean(formatted)}
    if not formatted:
        del attributes["formatted"]
    builder.operation("tpu.log", [], operands, attributes)
    return []


@mosaic_rules.define(roll_p)
def _roll(
    builder: MosaicBuilder,
    x: Any,
    shift: Any,
    *,
    axis: int,
    stride: int | None,
    stride_axis: int | None,
) -> Any:
    attributes = {"dimension": mlir.parsed(f"{axis} : si32")}
    if stride is not None and stride_axis is not None:
        attributes["stride"] = mlir.parsed(f"{stride} : si32")
        attributes["stride_dimension"] = mlir.parsed(f"{stride_axis} : si32")
    return builder.create("tpu.dynamic_rotate", x.type, (x, shift), attributes)


@mosaic_rules.define(bitcast_p)
def _bitcast(builder: MosaicBuilder, x: Any, **params: Any) -> Any:
    return builder.create("tpu.bitcast", builder.value_type(builder.aval_out), (x,))


@mosaic_rules.define(prng_seed_p)
def _prng_seed(builder: MosaicBuilder, *seeds: Any) -> list[Any]:
    builder.operation("tpu.prng_set_seed_32", [], seeds)
    return []


@mosaic_rules.define(prng_random_bits_p)
def _prng_random_bits(builder: MosaicBuilder, **params: Any) -> Any:
    return builder.create("tpu.prng_random_bits", builder.value_type(builder.aval_out))


@mosaic_rules.define(touch_p)
def _touch(builder: MosaicBuilder, ref: Any) -> list[Any]:
    return []


@mosaic_rules.define(debug_check_p)
def _debug_check(builder: MosaicBuilder, condition: Any, *, message: str) -> list[Any]:
    builder.operation("cf.assert", [], (condition,), {"msg": mlir.string(message)})
    return []
