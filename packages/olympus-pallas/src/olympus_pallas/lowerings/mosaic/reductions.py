# SPDX-License-Identifier: Apache-2.0
"""Lowering of reductions to Mosaic."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.types import dtypes
from olympus_xla.compiling.lowering import mlir

from ...mlir.building import INT32, KernelLoweringError, element_type, is_float
from ...mlir.elementwise import cast, compare
from ...mlir.tables import mosaic_rules
from .builder import MosaicBuilder

_FLOAT32 = np.dtype(np.float32)


def _lowest(dtype: Any) -> Any:
    return -np.inf if is_float(dtype) else dtypes.iinfo(dtype).min


def _highest(dtype: Any) -> Any:
    return np.inf if is_float(dtype) else dtypes.iinfo(dtype).max


def multi_reduction(
    builder: MosaicBuilder, kind: str, x: Any, axes: Sequence[int], start: Any, dtype: Any
) -> Any:
    """Builds ``vector.multi_reduction``; narrow floating-point numbers are widened first."""
    narrow = dtype
    if is_float(dtype) and np.dtype(dtype).itemsize < 4:
        x, dtype = cast(builder, x, dtype, _FLOAT32), _FLOAT32
    shape = builder.shape_of(x)
    rest = [size for dim, size in enumerate(shape) if dim not in axes]
    if not rest:
        # Results must be vectors, so the result is a vector of one element.
        x = builder.reshape(x, (1, *shape))
        axes, rest = [axis + 1 for axis in axes], [1]
        one_element = True
    else:
        one_element = False
    accumulator = builder.full(start, rest, dtype)
    attributes = {
        "kind": mlir.parsed(f"#vector.kind<{kind}>"),
        "reduction_dims": mlir.i64_array(axes),
    }
    result_type = builder.shaped_type(rest, element_type(dtype))
    result = builder.create("vector.multi_reduction", result_type, (x, accumulator), attributes)
    if one_element:
        result = builder.reshape(result, ())
    return cast(builder, result, dtype, narrow)


def _reduction(
    for_floats: str, for_integers: str, start: Callable[[Any], Any], unsigned: str = ""
) -> Callable[..., Any]:
    def rule(builder: MosaicBuilder, x: Any, *, axes: Sequence[int], **params: Any) -> Any:
        dtype = builder.avals_in[0].dtype
        kind = for_floats if is_float(dtype) else for_integers
        if unsigned and np.dtype(dtype).kind == "u":
            kind = unsigned
        return multi_reduction(builder, kind, x, axes, start(dtype), dtype)

    return rule


mosaic_rules.define(lax.reduce_sum_p, _reduction("add", "add", lambda dtype: 0))
mosaic_rules.define(lax.reduce_max_p, _reduction("maximumf", "maxsi", _lowest, "maxui"))
mosaic_rules.define(lax.reduce_min_p, _reduction("minimumf", "minsi", _highest, "minui"))


def _of_booleans(kind: str, start: float) -> Callable[..., Any]:
    """Returns the rule of `all` or `any`, as the minimum or maximum of zeros and ones."""

    def rule(builder: MosaicBuilder, x: Any, *, axes: Sequence[int], **params: Any) -> Any:
        aval = builder.avals_in[0]
        if aval.dtype != np.bool_:
            raise KernelLoweringError(
                f"`{builder.equation.primitive.name}` in Mosaic needs booleans, got {aval.dtype}"
            )
        ones = builder.full(1, aval.shape, _FLOAT32)
        zeros = builder.full(0, aval.shape, _FLOAT32)
        numbers = builder.create("arith.select", ones.type, (x, ones, zeros))
        result = multi_reduction(builder, kind, numbers, axes, start, _FLOAT32)
        zero = builder.full(0, builder.shape_of(result), _FLOAT32)
        return compare(builder, "gt", result, zero, _FLOAT32)

    return rule


mosaic_rules.define(lax.reduce_or_p, _of_booleans("maximumf", -np.inf))
mosaic_rules.define(lax.reduce_and_p, _of_booleans("minimumf", np.inf))


def _index_reduction(kind: str) -> Callable[..., Any]:
    def rule(
        builder: MosaicBuilder, x: Any, *, axes: Sequence[int], index_dtype: Any, **params: Any
    ) -> Any:
        (axis,) = axes
        aval = builder.avals_in[0]
        if aval.dtype != np.float32:
            raise KernelLoweringError(
                f"`{builder.equation.primitive.name}` in Mosaic needs float32, got {aval.dtype}"
            )
        shape = builder.aval_out.shape
        if not shape:
            raise KernelLoweringError(
                f"`{builder.equation.primitive.name}` in Mosaic needs matrices, reduced "
                f"along one dimension, got an array of shape {aval.shape}"
            )
        attributes = {
            "axis": mlir.i32(axis),
            "kind": mlir.parsed(f"#tpu.reduction_kind<{kind}>"),
        }
        kind_out = builder.shaped_type(shape, element_type(INT32))
        index = builder.create("tpu.reduce_index", kind_out, (x,), attributes)
        return cast(builder, index, INT32, index_dtype)

    return rule


mosaic_rules.define(lax.argmax_p, _index_reduction("arg_max"))
mosaic_rules.define(lax.argmin_p, _index_reduction("arg_min"))
