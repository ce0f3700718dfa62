# SPDX-License-Identifier: Apache-2.0
"""Functions with rewritten control flow.

The functions are compiled from rewritten syntax trees, and bound to the scopes of the original
functions.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Hashable
from types import CellType, CodeType, FunctionType, MethodType, SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from . import operators
from .rewriting import OPERATORS, rewrite_function, rewrite_lambda
from .sources import SourceError, definition_of

_rewritten: WeakKeyDictionary[Callable[..., Any], Callable[..., Any]] = WeakKeyDictionary()


def with_control_flow(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Returns a function whose Python control flow works on traced values.

    Rewrites ``if``, ``while``, ``for``, ``and``, ``or``, ``not``, chained comparisons, conditional
    expressions, ``break``, ``continue``, early ``return``, item assignments to local names, and the
    functions of the same module that the function calls. Python evaluates a condition that is known
    when the program is traced. A traced condition becomes `lax.cond` or `lax.while_loop`.

    Args:
      fun: a function, a method, a partial application, or an object that can be called.

    Returns:
      A function of the same arguments. Errors show the lines of the original.

    Raises:
      SourceError: the source of the function is not available.
      TypeError: ``fun`` has no Python source, for example because it is a built-in function.

    Example:
      >>> from olympus_ir import ShapedArray, trace_to_olympuspr
      >>> def absolute(x):
      ...     return [x if x >= 0 else -x]
      >>> olympuspr, _ = trace_to_olympuspr(
      ...     with_control_flow(absolute), [ShapedArray((), "float32")])
      >>> [equation.primitive.name for equation in olympuspr.eqns][:1]
      ['ge']
    """
    if isinstance(fun, functools.partial):
        return functools.partial(with_control_flow(fun.func), *fun.args, **fun.keywords)
    if isinstance(fun, MethodType):
        return MethodType(with_control_flow(fun.__func__), fun.__self__)
    if isinstance(fun, FunctionType):
        return _rewritten_function(fun)
    method = getattr(type(fun), "__call__", None)  # noqa: B004 - the function itself is wanted
    if isinstance(method, FunctionType) and not isinstance(fun, type):
        return MethodType(_rewritten_function(method), fun)
    raise TypeError(f"control_flow=True expects a Python function, got {fun!r}.")


def _rewritten_function(fun: FunctionType) -> Callable[..., Any]:
    result = _rewritten.get(fun)
    if result is None:
        is_rewritten = OPERATORS in fun.__code__.co_freevars
        result = _rewritten[fun] = fun if is_rewritten else _rewrite(fun)
    return result


def _rewrite(fun: FunctionType) -> FunctionType:
    node = definition_of(fun)
    prefix = _class_of(fun)
    _drop_defaults(node.args)
    body: list[ast.stmt]
    if isinstance(node, ast.Lambda):
        body = [ast.Return(rewrite_lambda(node, prefix))]
    else:
        node.decorator_list, node.returns = [], None
        body = [rewrite_function(node, prefix), ast.Return(ast.Name(node.name, ast.Load()))]
    ast.copy_location(body[-1], node)
    code = _compiled(body, node, fun)
    cells = dict(zip(fun.__code__.co_freevars, fun.__closure__ or (), strict=True))
    cells[OPERATORS] = CellType(_operators_for(fun))
    closure = tuple(cells[name] for name in code.co_freevars)
    result = FunctionType(code, fun.__globals__, fun.__name__, fun.__defaults__, closure)
    result.__kwdefaults__ = fun.__kwdefaults__
    functools.update_wrapper(result, fun)
    return result


def _compiled(body: list[ast.stmt], node: ast.AST, fun: FunctionType) -> CodeType:
    """Returns the code of a rewritten function, compiled in a scope with its free variables."""
    names = [*fun.__code__.co_freevars, OPERATORS]
    arguments = ast.arguments([], [ast.arg(name) for name in names], None, [], [], None, [])
    scope = ast.FunctionDef("_scope", arguments, body, [])
    ast.copy_location(scope, node)
    module = ast.fix_missing_locations(ast.Module([scope], []))
    made: dict[str, Any] = {}
    exec(compile(module, fun.__code__.co_filename, "exec"), fun.__globals__, made)
    return made["_scope"](*names).__code__


def _class_of(fun: FunctionType) -> str | None:
    """Returns the name of the class whose body defines a function, or None."""
    outer = fun.__qualname__.rpartition(".")[0]
    name = outer.rpartition(".")[2]
    return None if name in ("", "<locals>") else name


def _drop_defaults(arguments: ast.arguments) -> None:
    """Removes annotations and default values, which the original function holds."""
    arguments.defaults = [ast.Constant(None) for _ in arguments.defaults]
    arguments.kw_defaults = [value and ast.Constant(None) for value in arguments.kw_defaults]
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    for argument in (*every, arguments.vararg, arguments.kwarg):
        if argument is not None:
            argument.annotation = None


def _operators_for(fun: FunctionType) -> SimpleNamespace:
    """Returns the operators that the rewritten form of a function calls."""

    def callee(called: Any) -> Any:
        return _callee(called, fun.__globals__)

    return SimpleNamespace(**operators.OPERATORS, callee=callee)


def _callee(called: Any, module: dict[str, Any]) -> Any:
    """Returns the rewritten form of a called function, which accepts traced values.

    Functions of the user's module are rewritten. Functions of other modules, and functions without
    available source, are left unchanged.
    """
    if not isinstance(called, FunctionType):
        replacement = operators.BUILTINS.get(called) if isinstance(called, Hashable) else None
        if replacement is None and isinstance(called, MethodType):
            return MethodType(_callee(called.__func__, module), called.__self__)
        return replacement or called
    if called.__globals__ is not module:
        return called
    try:
        return _rewritten_function(called)
    except SourceError:
        return called
