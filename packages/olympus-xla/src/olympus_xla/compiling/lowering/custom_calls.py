# SPDX-License-Identifier: Apache-2.0
"""The attributes of custom calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import mlir


def custom_call_attributes(
    target: str,
    num_results: int,
    *,
    backend_config: dict[str, Any] | str | None = None,
    has_side_effect: bool = False,
    operand_layouts: Sequence[Sequence[int]] | None = None,
    result_layouts: Sequence[Sequence[int]] | None = None,
    operand_output_aliases: dict[int, int] | None = None,
    api_version: int = 4,
    attributes: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Returns the attributes of a ``stablehlo.custom_call``.

    Args:
      target: the name under which the function is registered.
      num_results: the number of results.
      backend_config: the function's own attributes, or a text for the older interfaces.
      has_side_effect: whether it is called even if its results are not used.
      operand_layouts: for each operand its dimensions from minor to major.
      result_layouts: likewise for the results.
      operand_output_aliases: from operands to the results that take their memory.
      api_version: the interface; 4 is the typed one.
      attributes: further attributes of the operation.
    """
    attrs: dict[str, Any] = {
        "call_target_name": mlir.string(target),
        "api_version": mlir.i32(api_version),
        "has_side_effect": mlir.boolean(has_side_effect),
        **(attributes or {}),
    }
    if isinstance(backend_config, dict):
        attrs["backend_config"] = mlir.dictionary(backend_config)
    elif backend_config is not None:
        attrs["backend_config"] = mlir.string(backend_config)
    if operand_layouts is not None:
        attrs["operand_layouts"] = _layouts(operand_layouts)
    if result_layouts is not None:
        attrs["result_layouts"] = _layouts(result_layouts)
    if operand_output_aliases:
        attrs["output_operand_aliases"] = mlir.array(
            [
                mlir.parsed(
                    "#stablehlo.output_operand_alias<output_tuple_indices = "
                    f"[{'' if num_results == 1 else result}], operand_index = {operand}, "
                    "operand_tuple_indices = []>"
                )
                for operand, result in operand_output_aliases.items()
            ]
        )
    return attrs


def _layouts(layouts: Sequence[Sequence[int]]) -> Any:
    return mlir.array([mlir.index_elements(layout) for layout in layouts])
