# SPDX-License-Identifier: Apache-2.0
"""The attributes of custom calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import mlir

_TYPED = 4  # the interface version in which attributes became a dictionary


def custom_call_attributes(
    target: str,
    num_results: int,
    *,
    backend_config: dict[str, Any] | str | bytes | None = None,
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
      backend_config: the function's attributes: a dictionary for the typed interface, a text for
        older interfaces.
      has_side_effect: whether to call the function even if its results are not used.
      operand_layouts: for each operand, its dimensions from minor to major.
      result_layouts: the same for the results.
      operand_output_aliases: a mapping from operands to the results that reuse their memory.
      api_version: the version of the interface; 4 is the typed interface.
      attributes: further attributes of the operation.

    Raises:
      ValueError: the interface is typed and ``backend_config`` is not a dictionary.
    """
    attrs: dict[str, Any] = {
        "call_target_name": mlir.string(target),
        "has_side_effect": mlir.boolean(has_side_effect),
        **_configuration(target, backend_config, api_version),
        **(attributes or {}),
    }
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


def _configuration(
    target: str, config: dict[str, Any] | str | bytes | None, api_version: int
) -> dict[str, Any]:
    """Returns the attributes for the function's configuration and its interface version."""
    if api_version < _TYPED:
        text = config if isinstance(config, str | bytes) else ""
        return {"api_version": mlir.i32(api_version), "backend_config": mlir.string(text)}
    if isinstance(config, str | bytes):
        raise ValueError(
            "When api_version >= 4, backend_config must be a dictionary of attributes, got "
            f"{config!r} for the foreign function {target!r}"
        )
    return {
        # XLA recognizes typed calls by their dictionary of attributes.
        "api_version": mlir.i32(1),
        "backend_config": mlir.string(""),
        "mhlo.backend_config": mlir.dictionary(config or {}),
    }


def _layouts(layouts: Sequence[Sequence[int]]) -> Any:
    return mlir.array([mlir.index_elements(layout) for layout in layouts])
