# SPDX-License-Identifier: Apache-2.0
"""Rewriting of statements and operators of control flow into calls of `operators`.

A statement's blocks become functions of the variables that the statement assigns::

    if x > 0:                      def then(y): y = x; return (y,)
        y = x               ->     def orelse(y): y = -x; return (y,)
    else:                          (y,) = __olympus__.if_(x > 0, then, orelse, (y,), ("y",), 1)
        y = -x

Nodes keep the positions of the original nodes, so errors show the user's lines.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Sequence

from .item_assignments import TEMPORARY, ItemAssignments
from .jumps import RESULT, exits_of, lower_jumps
from .scopes import (
    assigned_names,
    binds_in_expressions,
    declared_elsewhere,
    loads_of,
    nodes_of_scope,
    parameter_names,
)

OPERATORS = "__olympus__"
ITEM = f"{TEMPORARY}item"
# Functions that inspect the caller's frame or the names in the caller's scope.
_LOOKS_AT_CALLER = {"super", "locals", "vars", "dir", "globals", "eval", "exec"}


def rewrite_function(node: ast.FunctionDef, private_prefix: str | None) -> ast.FunctionDef:
    """Rewrites the control flow of a function, and of the functions defined in it.

    Args:
      node: the definition, which is changed in place.
      private_prefix: the name of the class for mangling private names, or None.
    """
    if any(isinstance(inner, ast.Yield | ast.YieldFrom) for inner in nodes_of_scope(node.body)):
        return node
    if private_prefix is not None:
        node = _Mangling(private_prefix).visit(node)
    elsewhere = declared_elsewhere(node.body)
    declarations = _declarations(node.body)
    parameters = set(parameter_names(node.args))
    local = (parameters | set(assigned_names(node.body))) - elsewhere
    statements = [ItemAssignments(local).visit(statement) for statement in node.body]
    body = lower_jumps(_flat(statements))
    for statement in body:
        _place_new(statement, node)
    rewriter = _Rewriter(private_prefix, loads_of(body))
    body = _flat([rewriter.visit(statement) for statement in body])
    body = [statement for statement in body if not isinstance(statement, ast.Global | ast.Nonlocal)]
    unbound = [name for name in rewriter.carried if name not in parameters | elsewhere]
    node.body = [
        *declarations,
        *(_undefined(name) for name in unbound if name != RESULT),
        *body,
    ]
    for statement in node.body:
        _place_new(statement, node)
    return node


def rewrite_lambda(node: ast.Lambda, private_prefix: str | None) -> ast.Lambda:
    """Rewrites the operators and conditional expressions of a lambda expression."""
    if private_prefix is not None:
        node = _Mangling(private_prefix).visit(node)
    node.body = _Rewriter(private_prefix, Counter()).visit(node.body)
    return ast.fix_missing_locations(node)


class _Mangling(ast.NodeTransformer):
    """Transformer that mangles private names ``__x`` of a class, like Python's compiler."""

    def __init__(self, prefix: str) -> None:
        self.prefix = prefix

    def _mangled(self, name: str) -> str:
        private = name.startswith("__") and not name.endswith("__")
        return f"_{self.prefix.lstrip('_')}{name}" if private else name

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        node.attr = self._mangled(node.attr)
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._mangled(node.id)
        return node


class _Rewriter(ast.NodeTransformer):
    """Transformer that rewrites the statements and expressions of one function.

    Attributes:
      carried: the names that rewritten statements assign.
    """

    def __init__(self, private_prefix: str | None, loads: Counter[str]) -> None:
        self.private_prefix = private_prefix
        self.loads = loads
        self.carried: dict[str, None] = {}
        self.functions = 0
        self.loops = 0

    # ---- scopes ----

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.decorator_list = [self.visit(decorator) for decorator in node.decorator_list]
        return rewrite_function(node, None)  # the names are already mangled

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        node.body = self.visit(node.body)
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        return node

    # ---- statements ----

    def visit_If(self, node: ast.If) -> ast.AST | list[ast.stmt]:
        names = self._carry([*node.body, *node.orelse])
        results = self._read_elsewhere(names, node)
        test = self.visit(node.test)
        then, defined_then = self._function("then", names, results, node.body, node)
        orelse, defined_orelse = self._function("else", names, results, node.orelse, node)
        values = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
        state = [values, _strings(results), ast.Constant(node.lineno)]
        call = self._call("if_", [test, then, orelse, *state], node)
        return [defined_then, defined_orelse, self._assign(results, call, node)]

    def visit_While(self, node: ast.While) -> ast.AST | list[ast.stmt]:
        if binds_in_expressions([node.test]):
            return self.generic_visit(node)
        names = self._carry(node.body)
        stopped: list[ast.expr] = [
            ast.UnaryOp(ast.Not(), ast.Name(flag, ast.Load())) for flag in exits_of(node)
        ]
        test = ast.BoolOp(ast.And(), [*stopped, node.test]) if stopped else node.test
        ast.copy_location(test, node.test)
        ast.fix_missing_locations(test)
        self.loops += 1
        going_on, defined_test = self._function("test", names, (), [ast.Return(test)], node)
        body, defined_body = self._function("body", names, names, node.body, node)
        self.loops -= 1
        call = self._call("while_", [going_on, body, *self._state(names, node)], node)
        return [defined_test, defined_body, self._assign(names, call, node)]

    def visit_For(self, node: ast.For) -> ast.AST | list[ast.stmt]:
        item = ast.Assign([node.target], ast.Name(ITEM, ast.Load()))
        ast.copy_location(item, node.target)
        names = self._carry([item, *node.body])
        targets = assigned_names([item])
        self.loops += 1
        statements = [item, *node.body]
        body, defined = self._function("body", names, names, statements, node, [ITEM])
        self.loops -= 1
        options = [_strings(targets), _strings(exits_of(node))]
        arguments = [self.visit(node.iter), body, *self._state(names, node), *options]
        return [defined, self._assign(names, self._call("for_", arguments, node), node)]

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.value is not None:
            node.value = self._call("checked", [self.visit(node.value)], node.value)
        return node

    def _carry(self, statements: Sequence[ast.stmt]) -> list[str]:
        """Returns the variables that statements assign."""
        names = [name for name in assigned_names(statements) if not name.startswith(TEMPORARY)]
        self.carried.update(dict.fromkeys(names))
        return names

    def _read_elsewhere(self, names: list[str], conditional: ast.If) -> list[str]:
        """Returns the variables of a conditional that other statements may read after it.

        In a loop, returns all variables, because the next iteration may read them.
        """
        if self.loops:
            return names
        loads = loads_of([conditional])
        return [name for name in names if self.loads[name] > loads[name]]

    def _function(
        self,
        role: str,
        names: Sequence[str],
        results: Sequence[str],
        statements: Sequence[ast.stmt],
        like: ast.stmt,
        first: Sequence[str] = (),
    ) -> tuple[ast.expr, ast.stmt]:
        """Returns the name of a new function, and its definition.

        Args:
          role: a word for the name of the function.
          names: the variables that the function takes.
          results: the variables that the function returns; empty for a test, which returns its
              value.
          statements: the body.
          like: the statement whose position the definition gets.
          first: further parameters, which precede the variables.
        """
        self.functions += 1
        name = f"_olympus_{role}_{self.functions}"
        body = _flat([self.visit(node) for node in statements])
        body = [node for node in body if not isinstance(node, ast.Global | ast.Nonlocal)]
        if role != "test":
            result = ast.Tuple([ast.Name(variable, ast.Load()) for variable in results], ast.Load())
            body.append(ast.Return(result))
        parameters = [ast.arg(variable) for variable in (*first, *names)]
        arguments = ast.arguments([], parameters, None, [], [], None, [])
        definition = ast.FunctionDef(name, arguments, body, [])
        ast.copy_location(definition, like)
        return ast.Name(name, ast.Load()), ast.fix_missing_locations(definition)

    def _state(self, names: Sequence[str], node: ast.stmt) -> list[ast.expr]:
        values = ast.Tuple([ast.Name(name, ast.Load()) for name in names], ast.Load())
        return [values, _strings(names), ast.Constant(node.lineno)]

    def _assign(self, names: Sequence[str], call: ast.expr, like: ast.stmt) -> ast.stmt:
        statement: ast.stmt = ast.Expr(call)
        if names:
            target = ast.Tuple([ast.Name(name, ast.Store()) for name in names], ast.Store())
            statement = ast.Assign([target], call)
        _place(statement, like)
        return ast.fix_missing_locations(statement)

    # ---- expressions ----

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        if binds_in_expressions([node]):
            return self.generic_visit(node)
        test, body, orelse = (self.visit(part) for part in (node.test, node.body, node.orelse))
        line = ast.Constant(node.lineno)
        return self._call("if_expression", [test, _thunk(body), _thunk(orelse), line], node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        if binds_in_expressions([node]):
            return self.generic_visit(node)
        first, *others = [self.visit(value) for value in node.values]
        name = "and_" if isinstance(node.op, ast.And) else "or_"
        return self._call(name, [first, *map(_thunk, others)], node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        operand = self.visit(node.operand)
        if isinstance(node.op, ast.Not):
            return self._call("not_", [operand], node)
        node.operand = operand
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        if len(node.ops) == 1 or binds_in_expressions([node]):
            return self.generic_visit(node)
        operands = [self.visit(comparator) for comparator in node.comparators]
        comparisons = [_strings([type(op).__name__ for op in node.ops]), *map(_thunk, operands)]
        return self._call("compare", [self.visit(node.left), *comparisons], node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        called = node.func
        self.generic_visit(node)
        if isinstance(called, ast.Name) and called.id in _LOOKS_AT_CALLER:
            return node
        node.func = self._call("callee", [node.func], node.func)
        return node

    def _call(self, name: str, arguments: list[ast.expr], like: ast.AST) -> ast.expr:
        function = ast.Attribute(ast.Name(OPERATORS, ast.Load()), name, ast.Load())
        call = ast.Call(function, arguments, [])
        _place(call, like)
        _place(function, like)
        return ast.fix_missing_locations(call)


def _place(node: ast.AST, like: ast.AST) -> None:
    """Sets the position of a node to that of a statement, or of its condition, limited to one line.

    Without the limit, Python would show the last line for a call of an attribute.
    """
    like = getattr(like, "test", None) or getattr(like, "iter", None) or like
    ast.copy_location(node, like)
    if node.end_lineno != node.lineno:  # type: ignore[attr-defined]
        node.end_lineno = node.lineno  # type: ignore[attr-defined]
        node.end_col_offset = node.col_offset + 1  # type: ignore[attr-defined]


def _place_new(statement: ast.stmt, function: ast.FunctionDef) -> None:
    """Sets the position of a statement that has none to the function's first line."""
    if not hasattr(statement, "lineno"):
        _place(statement, function)
    ast.fix_missing_locations(statement)


def _thunk(body: ast.expr) -> ast.expr:
    arguments = ast.arguments([], [], None, [], [], None, [])
    return ast.copy_location(ast.Lambda(arguments, body), body)


def _strings(values: Sequence[str]) -> ast.expr:
    return ast.Tuple([ast.Constant(value) for value in values], ast.Load())


def _undefined(name: str) -> ast.stmt:
    maker = ast.Attribute(ast.Name(OPERATORS, ast.Load()), "Undefined", ast.Load())
    value = ast.Call(maker, [ast.Constant(name)], [])
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _declarations(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Returns the global and nonlocal statements, which must come first."""
    return [node for node in nodes_of_scope(body) if isinstance(node, ast.Global | ast.Nonlocal)]


def _flat(statements: Sequence[ast.AST | list[ast.stmt] | None]) -> list[ast.stmt]:
    result: list[ast.stmt] = []
    for statement in statements:
        if isinstance(statement, list):
            result += statement
        elif statement is not None:
            result.append(statement)  # type: ignore[arg-type]
    return result
