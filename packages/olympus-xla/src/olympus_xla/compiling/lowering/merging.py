# SPDX-License-Identifier: Apache-2.0
"""Moving functions from one module into another."""

from __future__ import annotations

from collections.abc import Callable
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
    if "main" not in map(_symbol_of, source.body.operations):
        raise ValueError("a module to be merged into another one must have a function `main`")
    used = {_symbol_of(operation) for operation in destination.body.operations}

    def rename(operation: Any, old: str) -> str:
        if operation.operation.name == "func.func":
            operation.attributes["sym_visibility"] = mlir.string("private")
        return _unused(name if old == "main" else old, used)

    return move_operations(source, destination, rename, symbols)["main"]


def move_operations(
    source: Any, destination: Any, rename: Callable[[Any, str], str], symbols: Any = None
) -> dict[str, str]:
    """Moves the functions and meshes of a module into another module.

    A mesh that the destination has under another symbol is not moved: functions that use the mesh
    refer to that symbol.

    Args:
      source: the module whose operations are moved. It cannot be used afterwards.
      destination: the module that receives them.
      rename: maps an operation and its symbol to a symbol that the destination does not have.
      symbols: the symbol table of ``destination``, which is updated.

    Returns:
      The new symbols by the old ones.
    """
    moved: list[Any] = []
    renamed: dict[str, str] = {}
    for operation in list(source.body.operations):
        old = _symbol_of(operation)
        same = _same_mesh(destination, operation) if _is_mesh(operation) else None
        if same is None:
            renamed[old] = rename(operation, old)
            moved.append(operation)
        else:
            renamed[old] = same
            operation.operation.detach_from_parent()
    # The new symbol of one operation may be the old symbol of another. The first loop therefore
    # gives each operation an intermediate symbol, which occurs in neither module.
    for position, old in enumerate(renamed):
        ir.SymbolTable.replace_all_symbol_uses(old, f".{position}", source.operation)
    for position, new in enumerate(renamed.values()):
        ir.SymbolTable.replace_all_symbol_uses(f".{position}", new, source.operation)
    for operation in moved:
        ir.SymbolTable.set_symbol_name(operation, renamed[_symbol_of(operation)])
        destination.body.append(operation)
        if symbols is not None:
            symbols.insert(operation)
    return renamed


def _unused(name: str, used: set[str]) -> str:
    new, count = name, 0
    while new in used:
        new, count = f"{name}_{count}", count + 1
    used.add(new)
    return new


def _symbol_of(operation: Any) -> str:
    return ir.StringAttr(operation.attributes["sym_name"]).value


def _is_mesh(operation: Any) -> bool:
    return operation.operation.name == "sdy.mesh"


def _same_mesh(module: Any, mesh: Any) -> str | None:
    for operation in module.body.operations:
        if _is_mesh(operation) and operation.attributes["mesh"] == mesh.attributes["mesh"]:
            return _symbol_of(operation)
    return None
