# SPDX-License-Identifier: Apache-2.0
"""Item assignments, rewritten as assignments to names.

``x[i] = v`` becomes ``x = set_item(x, i, v)``.

Arrays are immutable, so the statement binds the name to an updated array. Lists, dictionaries and
NumPy arrays are changed in place, as in plain Python.
"""

from __future__ import annotations

import ast
from collections.abc import Set
from typing import Any

from .scopes import SCOPES

# Names with this prefix are used only within a single statement.
TEMPORARY = "_olympus_temporary_"
_VALUE = f"{TEMPORARY}value"


class ItemAssignments(ast.NodeTransformer):
    """Transformer that rewrites the item assignments of one function to its local names.

    Args:
      local: the function's local names. An item of any other name is assigned in place, because the
        function cannot rebind that name.
    """

    def __init__(self, local: Set[str]) -> None:
        self.local = local

    def visit(self, node: ast.AST) -> Any:
        return node if isinstance(node, SCOPES) else super().visit(node)

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.stmt]:
        if not any(self._has_item(target) for target in node.targets):
            return node
        if len(node.targets) == 1 and isinstance(node.targets[0], ast.Subscript):
            return _like(self._assignment(node.targets[0], node.value), node)
        statements: list[ast.stmt] = [ast.Assign([ast.Name(_VALUE, ast.Store())], node.value)]
        for target in node.targets:
            names, items = self._without_items(target)
            statements.append(ast.Assign([names], ast.Name(_VALUE, ast.Load())))
            statements += [
                self._assignment(item, ast.Name(name, ast.Load())) for name, item in items
            ]
        return [_like(statement, node) for statement in statements]

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        target = node.target
        if not self._is_item(target):
            return node
        assert isinstance(target, ast.Subscript) and isinstance(target.value, ast.Name)
        operation = ast.Constant(type(node.op).__name__)
        arguments = [_load(target.value), _index(target.slice), operation, node.value]
        return _like(_assign(target.value.id, _operator("update_item", arguments)), node)

    def _is_item(self, target: ast.AST) -> bool:
        return (
            isinstance(target, ast.Subscript)
            and isinstance(target.value, ast.Name)
            and target.value.id in self.local
        )

    def _has_item(self, target: ast.AST) -> bool:
        return any(
            self._is_item(node) and isinstance(node.ctx, ast.Store)  # type: ignore[attr-defined]
            for node in ast.walk(target)
        )

    def _assignment(self, target: ast.Subscript, value: ast.expr) -> ast.stmt:
        assert isinstance(target.value, ast.Name)
        arguments = [_load(target.value), _index(target.slice), value]
        return _assign(target.value.id, _operator("set_item", arguments))

    def _without_items(self, target: ast.expr) -> tuple[ast.expr, list[tuple[str, ast.Subscript]]]:
        """Returns a target with temporary names in place of items, and the items by name."""
        items: list[tuple[str, ast.Subscript]] = []

        def replaced(node: ast.expr) -> ast.expr:
            if self._is_item(node):
                assert isinstance(node, ast.Subscript)
                items.append((f"{TEMPORARY}{len(items)}", node))
                return ast.Name(items[-1][0], ast.Store())
            if isinstance(node, ast.Tuple | ast.List):
                return ast.Tuple([replaced(elt) for elt in node.elts], ast.Store())
            if isinstance(node, ast.Starred):
                return ast.Starred(replaced(node.value), ast.Store())
            return node

        return replaced(target), items


def _load(name: ast.Name) -> ast.Name:
    return ast.Name(name.id, ast.Load())


def _index(index: ast.expr) -> ast.expr:
    """Returns an expression for an index, which may contain slices."""
    maker = ast.Attribute(ast.Name("__olympus__", ast.Load()), "index", ast.Load())
    return ast.Subscript(maker, index, ast.Load())


def _operator(name: str, arguments: list[ast.expr]) -> ast.Call:
    function = ast.Attribute(ast.Name("__olympus__", ast.Load()), name, ast.Load())
    return ast.Call(function, arguments, [])


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _like(node: ast.stmt, origin: ast.stmt) -> ast.stmt:
    ast.copy_location(node, origin)
    return ast.fix_missing_locations(node)
