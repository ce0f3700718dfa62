# SPDX-License-Identifier: Apache-2.0
"""Moving functions from one module into another."""

from __future__ import annotations

from typing import Any

from . import mlir
from .mlir import ir


def merge_modules(destination: Any, name: str, source: Any, symbols: Any = None) -> str:
    """Moves the functions of a module into another module, under unused names.

    Args:
      destination: the module that receives the functions.
      name: the new name of the function ``main``.
      source: the module whose functions are moved. It cannot be used afterwards.
      symbols: the symbol table of ``destination``, which is updated.

    Returns:
      The new name of the former ``main``, which is now private.
    """
    used = {_symbol_of(operation) for operation in destination.body.operations}
    renamed: list[tuple[Any, str, str]] = []
    main = ""
    for operation in list(source.body.operations):
        old = _symbol_of(operation)
        if operation.operation.name == "sdy.mesh":
            same = _same_mesh(destination, operation)
            if same is not None:
                renamed.append((None, old, same))
                operation.operation.detach_from_parent()
                continue
        new = _unused(name if old == "main" else old, used)
        if old == "main":
            main = new
        if operation.operation.name == "func.func":
            operation.attributes["sym_visibility"] = mlir.string("private")
        renamed.append((operation, old, new))
    if not main:
        raise ValueError("a module to be merged into another one must have a function `main`")
    # Rename in two steps, first to names in neither module, to avoid collisions.
    for position, (_, old, _) in enumerate(renamed):
        ir.SymbolTable.replace_all_symbol_uses(old, f".{position}", source.operation)
    for position, (_, _, new) in enumerate(renamed):
        ir.SymbolTable.replace_all_symbol_uses(f".{position}", new, source.operation)
    for operation, _, new in renamed:
        if operation is not None:
            ir.SymbolTable.set_symbol_name(operation, new)
            destination.body.append(operation)
            if symbols is not None:
                symbols.insert(operation)
    return main


def _unused(name: str, used: set[str]) -> str:
    new, count = name, 0
    while new in used:
        new, count = f"{name}_{count}", count + 1
    used.add(new)
    return new


def _symbol_of(operation: Any) -> str:
    return ir.StringAttr(operation.attributes["sym_name"]).value


def _same_mesh(module: Any, mesh: Any) -> str | None:
    for operation in module.body.operations:
        if (
            operation.operation.name == "sdy.mesh"
            and operation.attributes["mesh"] == mesh.attributes["mesh"]
        ):
            return _symbol_of(operation)
    return None
