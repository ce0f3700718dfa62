# SPDX-License-Identifier: Apache-2.0
"""Programs as data: typed statements, functions of them, and their source text.

A program is text that OLYMPUS and JAX both run. It is stored as statements with the types of their
variables, so that programs can be reduced without a parser.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

__all__ = ["Function", "Kind", "Program", "Statement", "Value", "source"]

INDENT = "    "


@dataclasses.dataclass(frozen=True)
class Kind:
    """Type of an array: its shape, and its dtype by name."""

    shape: tuple[int, ...]
    dtype: str

    @property
    def size(self) -> int:
        """Returns the number of elements."""
        size = 1
        for length in self.shape:
            size *= length
        return size

    @property
    def is_float(self) -> bool:
        """Returns whether the elements are real floats."""
        return self.dtype in ("bfloat16", "float32", "float64")

    @property
    def is_complex(self) -> bool:
        """Returns whether the elements are complex."""
        return self.dtype.startswith("complex")

    @property
    def is_inexact(self) -> bool:
        """Returns whether derivatives with respect to the elements exist."""
        return self.is_float or self.is_complex

    @property
    def is_integer(self) -> bool:
        """Returns whether the elements are integers; booleans are not."""
        return self.dtype in ("uint8", "int32", "int64")


@dataclasses.dataclass(frozen=True)
class Value:
    """A variable of a program: its name and type."""

    name: str
    kind: Kind


@dataclasses.dataclass(frozen=True)
class Statement:
    """An assignment.

    Attributes:
      targets: the variables that the statement assigns: one variable for the expression, or several
        for its items.
      template: the expression; ``$0`` stands for the first operand, ``$f0`` for a function.
      operands: the names of the variables that the statement reads.
      bodies: the functions that the statement calls, which may read variables of the enclosing
        function.
    """

    targets: tuple[Value, ...]
    template: str
    operands: tuple[str, ...] = ()
    bodies: tuple[Function, ...] = ()

    def reads(self) -> set[str]:
        """Returns the names that the statement and its functions read."""
        names = set(self.operands)
        for body in self.bodies:
            names |= body.free_names()
        return names


@dataclasses.dataclass(frozen=True)
class Function:
    """A function: parameters, statements and results.

    Attributes:
      name: the name.
      parameters: the parameters.
      statements: the body.
      results: the names that the function returns.
      single: whether the function returns its only result itself, not in a tuple.
      layout: two templates, for the parameters in the signature and for the results in the return
        statement, if these are not plain lists. Numbers in a template stand for the names.
    """

    name: str
    parameters: tuple[Value, ...]
    statements: tuple[Statement, ...]
    results: tuple[str, ...]
    single: bool = False
    layout: tuple[str, str] | None = None

    def free_names(self) -> set[str]:
        """Returns the variables of enclosing functions that the function reads."""
        known = {value.name for value in self.parameters}
        free: set[str] = set()
        for statement in self.statements:
            free |= statement.reads() - known
            known |= {value.name for value in statement.targets}
        return free | (set(self.results) - known)

    def kind(self, name: str) -> Kind:
        """Returns the type of one of the function's own variables."""
        for value in self.values():
            if value.name == name:
                return value.kind
        raise KeyError(name)

    def values(self) -> Iterator[Value]:
        """Yields the parameters, and the variables that statements assign."""
        yield from self.parameters
        for statement in self.statements:
            yield from statement.targets


@dataclasses.dataclass(frozen=True)
class Program:
    """A function of arrays, the values of its arguments, and the transformations applied to it.

    Attributes:
      function: the function; its name is ``f``.
      arguments: the elements of each argument, as the text of a nested list.
      stack: the transformations, the innermost first.
      wide: whether 64-bit dtypes are enabled.
      smooth: whether finite differences can follow the operations.
    """

    function: Function
    arguments: tuple[str, ...]
    stack: tuple[Transformation, ...] = ()
    wide: bool = False
    smooth: bool = False

    def size(self) -> int:
        """Returns the number of transformations and of statements, including nested statements."""
        return _size(self.function) + len(self.stack)


@dataclasses.dataclass(frozen=True)
class Transformation:
    """The text of a function that applies a transformation to a function of the same parameters.

    Attributes:
      name: the name of the transformation.
      text: the body of the new function, with ``$f`` for the old function and ``$args`` for
        parameters.
      results: the types of the results, a tuple.
      loop: for `vmap`, a body that computes the same results by a loop; otherwise empty.
      numeric: for derivatives, a body that computes the same results by finite differences.
    """

    name: str
    text: str
    results: tuple[Kind, ...]
    loop: str = ""
    numeric: str = ""


def _size(function: Function) -> int:
    return len(function.statements) + sum(
        _size(body) for statement in function.statements for body in statement.bodies
    )


def source(program: Program, form: str = "plain") -> str:
    """Returns the text of a program, which assigns a function ``run`` and a list ``arguments``.

    Args:
      program: the program.
      form: "plain"; "loop", with loops in place of batches; "numeric", with finite differences in
        place of derivatives; or "nudged", where the results of all statements are changed by about
        one rounding error, to show how errors grow.

    Returns:
      Source text that names ``jax``, ``jnp``, ``lax`` and ``np``. The form "numeric" names
      ``numeric`` too, and the form "nudged" names ``nudged``.
    """
    lines = _function_lines(program.function, "", form == "nudged")
    names = ", ".join(value.name for value in program.function.parameters)
    inner = "f"
    for number, step in enumerate(program.stack, 1):
        body = (form == "loop" and step.loop) or (form == "numeric" and step.numeric) or step.text
        lines += ["", f"def f{number}({names}):"]
        body = body.replace("$args", names + ("," if len(program.function.parameters) == 1 else ""))
        lines += [INDENT + line for line in body.replace("$f", inner).splitlines()]
        inner = f"f{number}"
    lines += ["", f"run = {inner}", "arguments = ["]
    for value, elements in zip(program.function.parameters, program.arguments, strict=True):
        shape = value.kind.shape
        # NumPy reshapes them, because a library would compile an operation for each shape.
        shaped = elements if len(shape) == 1 else f"np.reshape({elements}, {shape})"
        lines.append(f"{INDENT}jnp.array({shaped}, jnp.{_dtype(value.kind)}),")
    return "\n".join([*lines, "]", ""])


def _dtype(kind: Kind) -> str:
    return "bool_" if kind.dtype == "bool" else kind.dtype


def _function_lines(function: Function, indent: str, nudge: bool) -> list[str]:
    names = [value.name for value in function.parameters]
    signature, returned = ", ".join(names), ", ".join(function.results)
    if not function.single and len(function.results) == 1:
        returned += ","
    if function.layout is not None:
        signature = function.layout[0].format(*names)
        returned = function.layout[1].format(*function.results)
    lines = [f"{indent}def {function.name}({signature}):"]
    for statement in function.statements:
        lines += _statement_lines(statement, indent + INDENT, nudge)
    return [*lines, f"{indent}{INDENT}return {returned}"]


def _statement_lines(statement: Statement, indent: str, nudge: bool) -> list[str]:
    lines: list[str] = []
    for body in statement.bodies:
        lines += _function_lines(body, indent, nudge)

    def name(match: re.Match[str]) -> str:
        number = int(match[2])
        return statement.bodies[number].name if match[1] else statement.operands[number]

    text = re.sub(r"\$(f?)(\d+)", name, statement.template)
    targets = ", ".join(value.name for value in statement.targets)
    lines.append(f"{indent}{targets} = {text}")
    if nudge:
        lines += [
            f"{indent}{value.name} = nudged({value.name}, '{value.name}')"
            for value in statement.targets
            if value.kind.is_inexact
        ]
    return lines
