# SPDX-License-Identifier: Apache-2.0
"""Malformed calls: valid calls of functions, each with one mistake, as texts of expressions.

`malformed` changes an expression at random. If the signature of the function is given, a bad value
may also go to a parameter that the valid call leaves out.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Callable, Iterable, Sequence

__all__ = ["VALUES", "malformed"]

#: Expressions of values that few parameters accept. They may use ``np``, ``jnp`` and ``root``.
VALUES = (
    *("None", "True", "'text'", "b'bytes'", "-1", "0", "7", "2.5", "1j", "float('nan')", "2**40"),
    *("()", "[]", "{}", "(0, 0)", "(0, 1, 2, 3, 4, 5)", "[1.5, 2.5]", "{'a': 1}", "..."),
    *("object()", "int", "slice(None)", "[[1], [2, 3]]", "(None,)", "('i',)", "[None, 1.0]"),
    *("'float99'", "'int32'", "jnp.float32", "np.dtype('O')", "lambda r: r", "lambda: 0"),
    *("np.array('a')", "np.array([None])", "np.ones((2, 0))", "np.ones((1, 1, 1, 1, 1))"),
    *("np.array('2020-01-01', 'M8[D]')", "np.ones(7, np.float64)", "np.arange(3)"),
    *("jnp.ones((2, 3, 4, 5))", "jnp.ones(7)", "jnp.ones(0)", "jnp.arange(3)", "jnp.ones(3) > 0"),
    *("jnp.array(1)", "jnp.ones((3, 3), complex)", "root.random.key(0)", "root.ShapeDtypeStruct"),
    *("root.ShapeDtypeStruct((3,), 'float32')", "root.sharding.PartitionSpec('i')", "jnp.sin"),
)


def malformed(
    expression: str,
    generator: random.Random,
    parameters: Callable[[str], Iterable[str]] = lambda function: (),
) -> str:
    """Returns a valid call with one mistake, or a few.

    Args:
      expression: a call of a function, or an operator between operands.
      generator: the source of randomness.
      parameters: a function from a function's dotted name to the names of its parameters.

    Returns:
      The changed expression.

    Example:
      >>> malformed("jnp.sum(x, axis=0)", random.Random(3))
      'jnp.sum(x, axis=0, text=np.arange(3))'
    """
    tree = ast.parse(expression, mode="eval")
    for _ in range(1 + (generator.random() < 0.2)):
        _change(tree, generator, parameters)
    return ast.unparse(ast.fix_missing_locations(tree))


def _change(
    tree: ast.Expression,
    generator: random.Random,
    parameters: Callable[[str], Iterable[str]],
) -> None:
    node = _place(tree, generator)
    if isinstance(node, ast.Call):
        changes: Sequence[Callable[..., None]] = (
            *(_replace_argument,) * 10,
            *(_add_keyword,) * 4,
            *(_drop_argument, _add_argument, _swap_arguments, _repeat_argument),
        )
        generator.choice(changes)(node, generator, parameters)
    elif isinstance(node, ast.BinOp):
        side = generator.choice(("left", "right"))
        value = _value(generator)
        # A Python integer to the power of a large value such as 2**40 would fill the memory.
        endless = isinstance(node.op, ast.Pow) and isinstance(value, ast.BinOp)
        setattr(node, side, ast.Constant(7) if endless else value)
    elif isinstance(node, ast.Compare):
        node.comparators[0] = _value(generator)
    elif isinstance(node, ast.Subscript):
        node.slice = _value(generator)
    else:
        tree.body = _value(generator)


def _place(tree: ast.Expression, generator: random.Random) -> ast.AST:
    """Returns the expression to change: most often the outermost."""
    kinds = (ast.Call, ast.BinOp, ast.Compare, ast.Subscript)
    places = [node for node in ast.walk(tree) if isinstance(node, kinds)]
    if not places:
        return tree.body
    return places[0] if generator.random() < 0.7 else generator.choice(places)


def _value(generator: random.Random) -> ast.expr:
    return ast.parse(generator.choice(VALUES), mode="eval").body


def _replace_argument(node: ast.Call, generator: random.Random, parameters: object) -> None:
    place = generator.randrange(len(node.args) + len(node.keywords)) if _count(node) else 0
    if place < len(node.args):
        node.args[place] = _value(generator)
    elif node.keywords:
        node.keywords[place - len(node.args)].value = _value(generator)
    else:
        node.args.append(_value(generator))


def _count(node: ast.Call) -> int:
    return len(node.args) + len(node.keywords)


def _add_keyword(
    node: ast.Call, generator: random.Random, parameters: Callable[[str], Iterable[str]]
) -> None:
    taken = {keyword.arg for keyword in node.keywords}
    known = [name for name in parameters(ast.unparse(node.func)) if name not in taken]
    name = generator.choice(known) if known and generator.random() < 0.95 else "text"
    if name not in taken:
        node.keywords.append(ast.keyword(name, _value(generator)))


def _drop_argument(node: ast.Call, generator: random.Random, parameters: object) -> None:
    if node.args:
        del node.args[generator.randrange(len(node.args))]


def _add_argument(node: ast.Call, generator: random.Random, parameters: object) -> None:
    node.args.insert(generator.randint(0, len(node.args)), _value(generator))


def _swap_arguments(node: ast.Call, generator: random.Random, parameters: object) -> None:
    generator.shuffle(node.args)


def _repeat_argument(node: ast.Call, generator: random.Random, parameters: object) -> None:
    if node.args:
        node.args.append(generator.choice(node.args))
