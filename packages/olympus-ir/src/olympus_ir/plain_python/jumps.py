# SPDX-License-Identifier: Apache-2.0
"""Lowering of ``break``, ``continue`` and early ``return`` to flags.

A jump sets a flag, and the statements that it skips run only if no flag is set. If one side of an
``if`` always jumps, the statements after the ``if`` move into the other side, and no flag is
needed.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TypeVar

from .scopes import may_jump, may_leave_loop, may_return, surely_jumps

Node = TypeVar("Node", bound=ast.stmt)

# Names that do not occur in users' programs.
RETURNED, RESULT = "_olympus_returned", "_olympus_result"


def exits_of(loop: ast.For | ast.While) -> tuple[str, ...]:
    """Returns the flags that end a loop rewritten by `lower_jumps`."""
    return getattr(loop, "exits", ())


def lower_jumps(body: list[ast.stmt]) -> list[ast.stmt]:
    """Returns the body of a function with jumps replaced by assignments to flags."""
    if may_return([node for node in body if not isinstance(node, ast.Return)]):
        if not surely_jumps(body):
            body = [*body, ast.Return(ast.Constant(None))]
        lowering = _Lowering(returns=True)
        return [
            _assigned(RETURNED, ast.Constant(False)),
            _assigned(RESULT, ast.Attribute(_name("__olympus__"), "NOT_RETURNED", ast.Load())),
            *lowering.block(body, None),
            ast.Return(_name(RESULT)),
        ]
    return _Lowering(returns=False).block(body, None)


class _LoopFlags:
    """The names of the flags of one loop; None for a jump that the loop does not contain."""

    def __init__(self, number: int, body: Sequence[ast.stmt]) -> None:
        leaves = may_leave_loop(body, ast.Break)
        skips = may_leave_loop(body, ast.Continue)
        self.broken = f"_olympus_broken_{number}" if leaves else None
        self.skipped = f"_olympus_skipped_{number}" if skips else None


class _Lowering:
    def __init__(self, returns: bool) -> None:
        self.returns = returns
        self.loops = 0

    def block(self, statements: Sequence[ast.stmt], loop: _LoopFlags | None) -> list[ast.stmt]:
        """Lowers the statements of a block."""
        result: list[ast.stmt] = []
        for position, node in enumerate(statements):
            rest = statements[position + 1 :]
            if isinstance(node, ast.Return | ast.Break | ast.Continue):
                return [*result, *self._jump(node, loop)]
            jumps = may_jump([node])
            if jumps and rest and isinstance(node, ast.If):
                joined = self._rest_in_other_side(node, rest, loop)
                if joined is not None:
                    return [*result, joined]
            guard = self._no_jump([node], loop) if jumps and rest else None
            result += self._statement(node, loop)
            if guard is not None:
                result.append(_if(guard, self.block(rest, loop), node))
                return result
        return result or [ast.Pass()]

    def _jump(self, node: ast.stmt, loop: _LoopFlags | None) -> list[ast.stmt]:
        if isinstance(node, ast.Return):
            if not self.returns:
                return [node]
            value = node.value if node.value is not None else ast.Constant(None)
            assignments = [_assigned(RESULT, value), _assigned(RETURNED, ast.Constant(True))]
        else:
            assert loop is not None  # Python rejects a jump outside of a loop
            flag = loop.broken if isinstance(node, ast.Break) else loop.skipped
            assignments = [_assigned(str(flag), ast.Constant(True))]
        return [_located(assignment, node) for assignment in assignments]

    def _rest_in_other_side(
        self, node: ast.If, rest: Sequence[ast.stmt], loop: _LoopFlags | None
    ) -> ast.If | None:
        body, orelse = node.body, node.orelse
        if surely_jumps(body) and not may_jump(orelse):
            orelse = [*orelse, *rest]
        elif orelse and surely_jumps(orelse) and not may_jump(body):
            body = [*body, *rest]
        else:
            return None
        return _located(ast.If(node.test, self.block(body, loop), self.block(orelse, loop)), node)

    def _statement(self, node: ast.stmt, loop: _LoopFlags | None) -> list[ast.stmt]:
        """Lowers the blocks inside a statement."""
        if isinstance(node, ast.For | ast.While):
            return self._loop(node, loop)
        if isinstance(node, ast.Try):
            # The `else` of `try` runs only if the body of the `try` has not jumped.
            orelse: list[ast.stmt] = self.block(node.orelse, loop) if node.orelse else []
            if orelse and may_jump(node.body):
                orelse = [_if(self._no_jump(node.body, loop), orelse, node)]
            node.body = self.block(node.body, loop)
            node.orelse = orelse
            node.finalbody = self.block(node.finalbody, loop) if node.finalbody else []
            for handler in node.handlers:
                handler.body = self.block(handler.body, loop)
        elif isinstance(node, ast.If):
            node.body = self.block(node.body, loop)
            node.orelse = self.block(node.orelse, loop) if node.orelse else []
        elif isinstance(node, ast.With):
            node.body = self.block(node.body, loop)
        elif isinstance(node, ast.Match):
            for case in node.cases:
                case.body = self.block(case.body, loop)
        return [node]

    def _loop(self, node: ast.For | ast.While, outer: _LoopFlags | None) -> list[ast.stmt]:
        self.loops += 1
        flags = _LoopFlags(self.loops, node.body)
        exits = [flag for flag in (flags.broken,) if flag is not None]
        if self.returns and may_return(node.body):
            exits.append(RETURNED)
        before = [_assigned(flags.broken, ast.Constant(False))] if flags.broken else []
        start = [_assigned(flags.skipped, ast.Constant(False))] if flags.skipped else []
        node.body = [*start, *self.block(node.body, flags)]
        orelse, node.orelse = node.orelse, []
        node.exits = tuple(exits)  # type: ignore[union-attr]
        after: list[ast.stmt] = []
        if orelse:
            lowered = self.block(orelse, outer)
            after = [_if(_none_of(exits), lowered, node)] if exits else lowered
        return [*(_located(statement, node) for statement in before), node, *after]

    def _no_jump(self, statements: Sequence[ast.stmt], loop: _LoopFlags | None) -> ast.expr:
        """Returns the condition under which statements have not jumped."""
        flags = []
        if self.returns and may_return(statements):
            flags.append(RETURNED)
        if loop is not None and loop.broken and may_leave_loop(statements, ast.Break):
            flags.append(loop.broken)
        if loop is not None and loop.skipped and may_leave_loop(statements, ast.Continue):
            flags.append(loop.skipped)
        return _none_of(flags)


def _none_of(flags: Sequence[str]) -> ast.expr:
    tests: list[ast.expr] = [ast.UnaryOp(ast.Not(), _name(flag)) for flag in flags]
    return tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)


def _name(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _assigned(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _if(test: ast.expr, body: list[ast.stmt], like: ast.stmt) -> ast.If:
    return _located(ast.If(test, body, []), like)


def _located(node: Node, like: ast.stmt) -> Node:
    ast.copy_location(node, like)
    return ast.fix_missing_locations(node)
