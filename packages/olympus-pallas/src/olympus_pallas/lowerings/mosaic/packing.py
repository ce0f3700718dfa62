# SPDX-License-Identifier: Apache-2.0
"""Mosaic lowering of packing, stochastic rounding, matrix units and `trace_value`."""

from __future__ import annotations

from typing import Any

from olympus_ir.types import dtypes
from olympus_xla.compiling.lowering import mlir

from ...mlir.attributes import type_attribute
from ...mlir.building import element_type
from ...mlir.tables import mosaic_rules
from ...tpu.matrix_unit import matmul_acc_lhs_p, matmul_pop_p, matmul_push_rhs_p
from ...tpu.packing import (
    pack_elementwise_p,
    stochastic_round_p,
    trace_value_p,
    unpack_elementwise_p,
)
from .builder import MosaicBuilder


def _narrow(dtype: Any) -> Any:
    return type_attribute(element_type(dtypes.dtype(dtype)))


@mosaic_rules.define(pack_elementwise_p)
def _pack(builder: MosaicBuilder, *xs: Any, packed_dtype: Any) -> Any:
    kind = builder.value_type(builder.aval_out)
    attributes = {"target_type": _narrow(packed_dtype)}
    return builder.create("tpu.pack_elementwise", kind, xs, attributes)


@mosaic_rules.define(unpack_elementwise_p)
def _unpack(
    builder: MosaicBuilder, x: Any, *, index: int, packed_dtype: Any, unpacked_dtype: Any
) -> Any:
    kind = builder.value_type(builder.aval_out)
    attributes = {"source_type": _narrow(packed_dtype), "index": mlir.i32(index)}
    return builder.create("tpu.unpack_elementwise", kind, (x,), attributes)


@mosaic_rules.define(stochastic_round_p)
def _round(builder: MosaicBuilder, x: Any, random_bits: Any, *, target_dtype: Any) -> Any:
    kind = builder.value_type(builder.aval_out)
    return builder.create("tpu.stochastic_convert", kind, (x, random_bits))


@mosaic_rules.define(trace_value_p)
def _trace_value(builder: MosaicBuilder, value: Any, *, label: str) -> list[Any]:
    builder.operation("tpu.trace_value", [], (value,), {"label": mlir.string(label)})
    return []


@mosaic_rules.define(matmul_push_rhs_p)
def _push(
    builder: MosaicBuilder, rhs: Any, *, staging_register: int, mxu_index: int, transpose: bool
) -> list[Any]:
    attributes = {
        "staging_register": mlir.i32(staging_register),
        "mxu_index": mlir.i32(mxu_index),
        "transpose": mlir.boolean(transpose),
    }
    builder.operation("tpu.matmul_push_rhs", [], (rhs,), attributes)
    return []


@mosaic_rules.define(matmul_acc_lhs_p)
def _accumulate(
    builder: MosaicBuilder, lhs: Any, *, acc_addr: int, mxu_index: int, load_staged_rhs: int | None
) -> list[Any]:
    attributes = {"acc": mlir.i32(acc_addr), "mxu_index": mlir.i32(mxu_index)}
    if load_staged_rhs is not None:
        attributes["load_staged_rhs"] = mlir.i32(load_staged_rhs)
    builder.operation("tpu.matmul_acc_lhs", [], (lhs,), attributes)
    return []


@mosaic_rules.define(matmul_pop_p)
def _pop(builder: MosaicBuilder, *, acc_addr: int, mxu_index: int, **params: Any) -> Any:
    attributes = {"acc": mlir.i32(acc_addr), "mxu_index": mlir.i32(mxu_index)}
    return builder.create("tpu.matmul_pop", builder.value_type(builder.aval_out), (), attributes)
