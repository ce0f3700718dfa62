# SPDX-License-Identifier: Apache-2.0
"""Checks of exported modules before they become part of a program.

A module may come from an untrusted file, and the compiler does not check its input.
"""

from __future__ import annotations

from typing import Any

from olympus_xla.compiling.lowering import mlir
from olympus_xla.compiling.lowering.mlir import ir

from .exported import Exported
from .stable_targets import check_custom_calls

__all__ = ["check_module"]


def check_module(exported: Exported, module: Any) -> None:
    """Checks the form, the types and the foreign calls of an exported function's module.

    Args:
      exported: the exported function.
      module: the StableHLO module of ``exported``.

    Raises:
      ValueError: the module is malformed, its main function has types other than those of
        ``exported``, or it calls foreign functions that are neither known nor allowed.
    """
    try:
        well_formed = module.operation.verify()
    except Exception as error:
        raise _damaged(exported, str(error)) from None
    if not well_formed:
        raise _damaged(exported, "it is malformed")
    try:
        _check_types(exported, module)
        check_custom_calls(module, exported.disabled_safety_checks)
    except RuntimeError:  # nanobind raises this error for texts that it cannot convert
        raise _damaged(exported, "a text in it is not in UTF-8") from None


def _check_types(exported: Exported, module: Any) -> None:
    """Raises ValueError if the types of the main function and of ``exported`` differ."""
    main_functions = [
        operation for operation in module.body.operations if _name_of(operation) == "main"
    ]
    if len(main_functions) != 1:
        raise _damaged(exported, "it has no main function")
    kind = ir.FunctionType(ir.TypeAttr(main_functions[0].attributes["function_type"]).value)
    inputs = [exported.in_avals[position] for position in exported.module_kept_var_idx]
    skipped = len(exported.ordered_effects) + (len(exported.platforms) > 1)
    for actual, expected_avals in (
        (kind.inputs[skipped:], inputs),
        (kind.results[len(exported.ordered_effects) :], exported.out_avals),
    ):
        types = mlir.plain_types([mlir.aval_type(aval) for aval in expected_avals])
        if list(actual) != types:
            shown = f"{list(map(str, actual))} in place of {list(map(str, types))}"
            raise _damaged(exported, f"its main function has the types {shown}")


def _name_of(operation: Any) -> str | None:
    attributes = operation.attributes
    return ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else None


def _damaged(exported: Exported, reason: str) -> ValueError:
    return ValueError(
        f"the module of the exported function {exported.fun_name} is damaged: {reason}"
    )
