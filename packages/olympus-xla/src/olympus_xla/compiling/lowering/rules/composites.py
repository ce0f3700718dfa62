# SPDX-License-Identifier: Apache-2.0
"""Lowering of composite operations: a named operation and its decomposition."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.trees import pytrees

from .. import mlir
from ..context import LoweringContext, program_key
from ..names import IN_FUNCTIONS
from ..tables import lowering_rules


@lowering_rules.define(lax.composite_p)
def _composite(
    context: LoweringContext,
    *operands: Any,
    name: str,
    version: int,
    attributes: Any,
    jaxpr: Any,
) -> list[Any]:
    if len(context.platforms) > 1:
        # A function for several platforms takes the platform's index, but a composite cannot, so
        # lower the decomposition instead.
        return context.lower(jaxpr, operands)
    values = {key: pytrees.tree_unflatten(tree, leaves) for key, leaves, tree in attributes}
    return composite_operation(context, jaxpr, operands, name, values, version)


def composite_operation(
    context: LoweringContext,
    decomposition: Any,
    operands: Sequence[Any],
    name: str,
    attributes: dict[str, Any],
    version: int = 0,
) -> list[Any]:
    """Builds a ``stablehlo.composite`` with the program ``decomposition``."""
    symbol = context.module.function_for(
        (program_key(decomposition), name),
        name,
        decomposition,
        IN_FUNCTIONS,
        [],
        context.platforms,
    )
    written = {key: attribute(value) for key, value in attributes.items() if value is not None}
    operation_attributes = {
        "name": mlir.string(name),
        "decomposition": mlir.symbol(symbol),
        "version": mlir.i32(version),
    }
    if written:
        operation_attributes["composite_attributes"] = mlir.dictionary(written)
    return list(
        context.operation(
            "stablehlo.composite", context.result_types, operands, operation_attributes
        ).results
    )


def attribute(value: Any) -> Any:
    """Converts a Python or NumPy value, or lists and dictionaries of values, to an attribute.

    Raises:
      TypeError: there is no attribute for the value.
    """
    if isinstance(value, bool | np.bool_):
        return mlir.boolean(bool(value))
    if isinstance(value, int):
        return mlir.i64(value)
    if isinstance(value, float):
        return mlir.parsed(f"{value!r} : f64")
    if isinstance(value, str):
        return mlir.string(value)
    if isinstance(value, np.dtype):
        return mlir.ir.TypeAttr.get(mlir.element_type(value), context=mlir.context())
    if isinstance(value, np.generic):
        element = mlir.element_type(value.dtype)
        number = value.item()
        return mlir.parsed(f"{number!r} : {element}")
    if isinstance(value, np.ndarray):
        return mlir.dense(value)
    if isinstance(value, list | tuple):
        return mlir.array([attribute(item) for item in value])
    if isinstance(value, dict):
        return mlir.dictionary({key: attribute(item) for key, item in value.items()})
    raise TypeError(
        f"composite: the attribute {value!r} of type {type(value).__name__} cannot be written into "
        "the program; attributes are numbers, strings, NumPy arrays, and lists or dictionaries of "
        "them."
    )
