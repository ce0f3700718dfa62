# SPDX-License-Identifier: Apache-2.0
"""Custom calls in lowering rules of libraries, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.lowering.custom_calls import custom_call_attributes

__all__ = ["custom_call"]


def custom_call(
    call_target_name: str,
    *,
    result_types: Sequence[Any],
    operands: Sequence[Any],
    backend_config: str | bytes | dict[str, Any] = "",
    has_side_effect: bool = False,
    result_shapes: Sequence[Any] | None = None,
    called_computations: Sequence[str] = (),
    api_version: int = 2,
    operand_output_aliases: dict[int, int] | None = None,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    extra_attributes: dict[str, Any] | None = None,
) -> Any:
    """Builds a ``stablehlo.custom_call`` where the lowering rule of a library is at work.

    Args:
      call_target_name: the name under which the function is registered.
      result_types: the types of the results.
      operands: the operands.
      backend_config: a dictionary of attributes for version 4 of the interface, else a text.
      has_side_effect: whether the call stays if its results are not used.
      result_shapes: the shapes of the results as values, for programs of symbolic sizes. They are
        further operands.
      called_computations: the names of functions of the module that the call refers to.
      api_version: the version of the interface.
      operand_output_aliases: a mapping from operands to the results that reuse their memory.
      operand_layouts: for each operand, its dimensions from minor to major.
      result_layouts: the same for the results.
      extra_attributes: further attributes of the operation.

    Returns:
      The operation, with the attributes ``result`` and ``results``.
    """
    attributes = dict(extra_attributes or {})
    if called_computations:
        attributes["called_computations"] = mlir.array([*map(mlir.symbol, called_computations)])
    values = list(operands)
    if result_shapes is not None:
        places = [*range(len(values), len(values) + len(result_shapes))]
        attributes["indices_of_shape_operands"] = mlir.i64_elements(places)
        values += result_shapes
        if operand_layouts is not None:
            operand_layouts = [*operand_layouts, *[(0,)] * len(result_shapes)]
    described = custom_call_attributes(
        call_target_name,
        len(result_types),
        backend_config=backend_config,
        has_side_effect=has_side_effect,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        operand_output_aliases=operand_output_aliases,
        api_version=api_version,
        attributes=attributes,
    )
    return mlir.ir.Operation.create(
        "stablehlo.custom_call", results=list(result_types), operands=values, attributes=described
    )
