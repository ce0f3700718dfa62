# SPDX-License-Identifier: Apache-2.0
"""Lowering of foreign calls: custom calls with attributes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .... import _jaxlib
from ....foreign.ffi_attributes import FrozenDict, HashableArray, TypedScalar
from ....foreign.ffi_primitive import ffi_call_p
from .. import mlir
from ..context import LoweringContext
from ..mlir import ir
from ..tables import lowering_rules


@lowering_rules.define(ffi_call_p)
def _ffi_call(
    context: LoweringContext,
    *operands: Any,
    target_name: str,
    has_side_effect: bool,
    input_layouts: tuple,
    output_layouts: tuple,
    input_output_aliases: tuple,
    custom_call_api_version: int,
    legacy_backend_config: str | None,
    attributes: tuple,
    **params: Any,
) -> list[Any]:
    if "cpu" in context.platforms:
        _jaxlib.register_called_routines(target_name.encode())
    config: Any = legacy_backend_config
    if custom_call_api_version >= 4:
        config = {name: mlir_attribute(value) for name, value in attributes}
    return context.custom_call(
        target_name,
        context.result_types,
        operands,
        backend_config=config,
        has_side_effect=has_side_effect,
        operand_layouts=input_layouts,
        result_layouts=output_layouts,
        operand_output_aliases=dict(input_output_aliases),
        api_version=custom_call_api_version,
    )


def mlir_attribute(value: Any) -> Any:
    """Returns the MLIR attribute of a Python or NumPy value.

    Raises:
      TypeError: there is no attribute for the value.
    """
    if isinstance(value, TypedScalar | HashableArray):
        value = value.val
    for classes, attribute_of in _ATTRIBUTES:
        if isinstance(value, classes):
            return attribute_of(value)
    if isinstance(value, np.generic) and _is_float(value):
        return _float_attribute(value.dtype, value)
    raise TypeError(
        f"No attribute handler defined for type: {type(value)}. Attributes of foreign calls are "
        "scalars, strings, dtypes, NumPy arrays, and tuples and dictionaries of them."
    )


def _integer_attribute(value: int) -> Any:
    if not -(2**63) <= value < 2**63:
        raise OverflowError(
            f"the integer attribute {value} of a foreign call does not fit into 64 bits"
        )
    return mlir.i64(value)


def _float_attribute(dtype: Any, value: Any) -> Any:
    return ir.FloatAttr.get(mlir.element_type(dtype), float(value), loc=mlir.unknown_location())


def _is_float(value: np.generic) -> bool:
    return value.dtype.kind == "f" or (value.dtype.kind == "V" and value.dtype.names is None)


# The function that makes the attribute of a value, by the value's class. A class stands before its
# base classes: bool is a subclass of int. np.float64 is a subclass of float, and becomes a double.
_ATTRIBUTES: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (ir.Attribute, lambda value: value),
    ((str, bytes), mlir.string),
    (np.dtype, lambda value: ir.TypeAttr.get(mlir.element_type(value))),
    ((bool, np.bool_), lambda value: mlir.boolean(bool(value))),
    (int, _integer_attribute),
    (np.integer, lambda value: ir.IntegerAttr.get(mlir.element_type(value.dtype), int(value))),
    (float, lambda value: _float_attribute(np.dtype(np.float64), value)),
    (np.ndarray, mlir.dense),
    ((tuple, list), lambda value: mlir.array([mlir_attribute(element) for element in value])),
    (
        (FrozenDict, dict),
        lambda value: mlir.dictionary(
            {key: mlir_attribute(element) for key, element in value.items()}
        ),
    ),
)
