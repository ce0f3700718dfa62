# SPDX-License-Identifier: Apache-2.0
"""Names that statements assign in a scope, and jumps that statements may take."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence

# Nodes with their own scope for local names.
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LOOPS = (ast.For, ast.While, ast.AsyncFor)


def nodes_of_scope(nodes: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """Yields all nodes of the given trees, except the bodies of functions and classes."""
    for node in nodes:
        yield node
        if not isinstance(node, SCOPES):
            yield from nodes_of_scope(list(ast.iter_child_nodes(node)))


def assigned_names(statements: Sequence[ast.AST]) -> list[str]:
    """Returns the names that statements may bind, in the order of their first binding."""
    names: dict[str, None] = {}
    for node in nodes_of_scope(statements):
        names.update(dict.fromkeys(_bound_by(node)))
    comprehended = _names_of_comprehensions(statements)
    return [name for name in names if name not in comprehended]


def _bound_by(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Name):
        return [node.id] if isinstance(node.ctx, ast.Store | ast.Del) else []
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name.partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        return [node.name] if node.name else []
    if isinstance(node, ast.MatchMapping):
        return [node.rest] if node.rest else []
    return []


def _names_of_comprehensions(statements: Sequence[ast.AST]) -> set[str]:
    """Returns the variables of comprehensions that no other statement binds."""
    inside: list[ast.AST] = [
        node.target for node in nodes_of_scope(statements) if isinstance(node, ast.comprehension)
    ]
    targets = {id(name) for target in inside for name in ast.walk(target)}
    bound = [node for node in nodes_of_scope(statements) if isinstance(node, ast.Name)]
    outside = {n.id for n in bound if isinstance(n.ctx, ast.Store) and id(n) not in targets}
    return {n.id for n in bound if id(n) in targets} - outside


def loads_of(nodes: Sequence[ast.AST]) -> Counter[str]:
    """Counts the reads of each name by nodes, including reads in inner functions."""
    loads: Counter[str] = Counter()
    for root in nodes:
        for node in ast.walk(root):
            if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
                loads[node.target.id] += 1
            elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
                loads[node.id] += 1
    return loads


def declared_elsewhere(statements: Sequence[ast.AST]) -> set[str]:
    """Returns the names that statements declare as global or nonlocal."""
    return {
        name
        for node in nodes_of_scope(statements)
        if isinstance(node, ast.Global | ast.Nonlocal)
        for name in node.names
    }


def parameter_names(arguments: ast.arguments) -> list[str]:
    """Returns the names of all parameters."""
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    every += [argument for argument in (arguments.vararg, arguments.kwarg) if argument is not None]
    return [argument.arg for argument in every]


def binds_in_expressions(nodes: Sequence[ast.AST]) -> bool:
    """Returns whether expressions bind names or yield control, so they must not be moved."""
    moving = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom)
    return any(isinstance(node, moving) for node in nodes_of_scope(nodes))


# ---- jumps ----


def may_return(statements: Sequence[ast.AST]) -> bool:
    """Returns whether the statements contain a ``return``."""
    return any(isinstance(node, ast.Return) for node in nodes_of_scope(statements))


def may_leave_loop(statements: Sequence[ast.AST], kind: type[ast.stmt]) -> bool:
    """Returns whether statements contain a ``break`` or ``continue`` of the enclosing loop."""
    for node in statements:
        if isinstance(node, kind):
            return True
        if isinstance(node, SCOPES):
            continue
        # In the `else` of a loop, `break` and `continue` refer to the enclosing loop.
        inner = node.orelse if isinstance(node, _LOOPS) else list(ast.iter_child_nodes(node))
        if may_leave_loop(inner, kind):
            return True
    return False


def may_jump(statements: Sequence[ast.AST]) -> bool:
    """Returns whether statements may skip the statements that follow them."""
    return (
        may_return(statements)
        or may_leave_loop(statements, ast.Break)
        or may_leave_loop(statements, ast.Continue)
    )


def surely_jumps(statements: Sequence[ast.stmt]) -> bool:
    """Returns whether statements never reach the statements that follow them."""
    for node in statements:
        if isinstance(node, ast.Return | ast.Break | ast.Continue | ast.Raise):
            return True
        if isinstance(node, ast.If) and surely_jumps(node.body) and surely_jumps(node.orelse):
            return True
        if isinstance(node, ast.With) and surely_jumps(node.body):
            return True
        if _never_ends(node):
            return True
    return False


def _never_ends(node: ast.stmt) -> bool:
    return (
        isinstance(node, ast.While)
        and isinstance(node.test, ast.Constant)
        and bool(node.test.value)
        and not may_leave_loop(node.body, ast.Break)
    )
