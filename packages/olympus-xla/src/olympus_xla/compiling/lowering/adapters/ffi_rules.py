# SPDX-License-Identifier: Apache-2.0
"""Lowering rules of other libraries for primitives that are a single foreign function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ....arrays.layouts import Layout
from ....foreign.ffi import minor_to_major_layouts
from ..rules.ffi import mlir_attribute
from .rule_context import lowering_context

__all__ = ["build_ffi_lowering_function", "ffi_lowering"]


def ffi_lowering(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """Returns a lowering rule for a primitive that is a single foreign function.

    The parameters of the primitive become attributes of the call.

    Args:
      call_target_name: the name under which the function is registered.
      operand_layouts: for each operand, a `Layout`, or its dimensions from minor to major (XLA's
        order; `ffi_call` uses the reverse), or None for row-major order.
      result_layouts: the same for the results.
      backend_config: attributes that are the same for all calls, as MLIR attributes.
      skip_ffi_layout_processing: whether to pass layouts on unchanged; if there are none, the call
        has no layouts.
      **lowering_args: further arguments of the custom call: ``has_side_effect``,
        ``operand_output_aliases``, ``api_version``, ``attributes``.

    Returns:
      A rule ``(context, *operands, **params)`` that returns the results' values.

    Example:
      >>> rule = ffi_lowering("my_function")
    """
    build = build_ffi_lowering_function(
        call_target_name,
        operand_layouts=operand_layouts,
        result_layouts=result_layouts,
        backend_config=backend_config,
        skip_ffi_layout_processing=skip_ffi_layout_processing,
        **lowering_args,
    )

    def rule(context: Any, *operands: Any, **params: Any) -> Any:
        results = list(build(context, *operands, **params).results)
        equation = getattr(context, "equation", None)
        return results if equation is None or equation.primitive.multiple_results else results[0]

    return rule


def build_ffi_lowering_function(
    call_target_name: str,
    *,
    operand_layouts: Sequence[Any] | None = None,
    result_layouts: Sequence[Any] | None = None,
    backend_config: Mapping[str, Any] | str | None = None,
    skip_ffi_layout_processing: bool = False,
    **lowering_args: Any,
) -> Callable[..., Any]:
    """Returns a rule like that of `ffi_lowering`, except that it returns the MLIR operation."""

    def build(context: Any, *operands: Any, **params: Any) -> Any:
        context = lowering_context(context)
        avals_in, avals_out = context.avals_in, context.avals_out
        config: Any = backend_config
        if config is None or isinstance(config, Mapping):
            config = {
                **(config or {}),
                **{name: mlir_attribute(value) for name, value in params.items()},
            }

        def processed(layouts: Sequence[Any] | None, avals: Sequence[Any], name: str) -> Any:
            if skip_ffi_layout_processing:
                return layouts
            if layouts is None:
                return minor_to_major_layouts((None,) * len(avals), avals, name)
            # A plain sequence is in XLA's order, minor to major. `_layouts` takes the reverse.
            major_to_minor = [
                layout if layout is None or isinstance(layout, Layout) else tuple(layout)[::-1]
                for layout in layouts
            ]
            return minor_to_major_layouts(major_to_minor, avals, name)

        return context.custom_call_operation(
            call_target_name,
            context.result_types,
            operands,
            backend_config=config,
            operand_layouts=processed(operand_layouts, avals_in, "input"),
            result_layouts=processed(result_layouts, avals_out, "output"),
            **lowering_args,
        )

    return build
