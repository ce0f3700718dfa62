# SPDX-License-Identifier: Apache-2.0
"""Specifications of symbolic shapes as text, such as ``"a, 2*b + 1, ..."``.

The grammar:

    shape      := dimension ("," dimension)* [","], also in parentheses
    dimension  := "_" | "..." | sum
    sum        := ["-" | "+"] product (("+" | "-") product)*
    product    := power ("*" power)*
    power      := atom ["^" number]
    atom       := number | name | operation "(" sum "," sum ")" | "(" sum ")"
    operation  := "floordiv" | "mod" | "max" | "min"
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..programs.tracing import is_constant_dim
from . import expressions
from .expressions import Factor, from_factor

if TYPE_CHECKING:
    from .scopes import SymbolicScope

_TOKEN = re.compile(r"\s*(?:(\d+)|([A-Za-z_]\w*)|(\.\.\.)|(\S))")
_OPERATIONS = ("floordiv", "mod", "max", "min")


def parse_shape(
    text: str, scope: SymbolicScope, shown: Any = None, like: Sequence[Any] | None = None
) -> tuple[Any, ...]:
    """Returns the dimensions of a specification.

    Args:
      text: the specification.
      scope: the scope of the variables.
      shown: the specification as error messages show it; by default ``text``.
      like: the shape that provides the dimensions for ``_`` and ``...``.
    """
    return _Parser(text, scope, text if shown is None and text != "..." else shown, like).shape()


class _Parser:
    """Parser of one specification. ``dimensions`` holds the dimensions that it has parsed."""

    def __init__(self, text: str, scope: SymbolicScope, shown: Any, like: Any) -> None:
        self.text = text
        self.scope = scope
        self.shown = shown
        self.like = like
        self.dimensions: list[Any] = []
        self.tokens: list[tuple[str, int]] = []
        for match in _TOKEN.finditer(text):
            token = match.group(match.lastindex or 0)
            self.tokens.append((token, match.start(match.lastindex or 0)))
        self.tokens.append(("", len(text)))
        self.position = 0

    @property
    def token(self) -> str:
        return self.tokens[self.position][0]

    def take(self, *tokens: str) -> bool:
        """Skips the next token if it is one of ``tokens``; returns whether it did."""
        if self.token in tokens:
            self.position += 1
            return True
        return False

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.error(f"expecting '{token}' but found {self._found()}")

    def _found(self) -> str:
        return f"'{self.token}'" if self.token else "the end"

    def error(self, detail: str) -> ValueError:
        column = self.tokens[self.position][1]
        return ValueError(
            f"syntax error in symbolic shape {self.shown!r} in dimension {len(self.dimensions)}: "
            f"{detail}. Parsed '{self.text[:column]}', remaining '{self.text[column:]}'."
        )

    # ---- the grammar ----

    def shape(self) -> tuple[Any, ...]:
        in_parentheses = self.token == "(" and self._closes_at_end()
        if in_parentheses:
            self.position += 1
        end = ")" if in_parentheses else ""
        while self.token != end:
            if self.take("..."):
                count = max(len(self.dimensions), len(self.like)) if self.like is not None else -1
                self._fill(count, "...")
                break
            dimension = self._dimension()
            self._check_like(dimension)
            self.dimensions.append(dimension)
            if self.token != end and not self.take(","):
                raise self.error(f"expecting ',' or the end but found {self._found()}")
        if in_parentheses:
            self.expect(")")
        if self.token:
            raise self.error(f"expecting the end but found {self._found()}")
        return tuple(self.dimensions)

    def _check_like(self, size: Any) -> None:
        """Raises if a size differs from the size at the same position of ``like``."""
        position = len(self.dimensions)
        if self.like is None or position >= len(self.like) or not is_constant_dim(size):
            return
        known = self.like[position]
        if size is None:
            raise self.error(f"unexpected placeholder for unknown dimension; like={self.like}")
        if is_constant_dim(known) and known is not None and known != size:
            raise self.error(f"different size {size} for known dimension; like={self.like}")

    def _closes_at_end(self) -> bool:
        """Returns whether the last token closes the first parenthesis."""
        depth = 0
        for position, (token, _) in enumerate(self.tokens):
            depth += (token == "(") - (token == ")")
            if not depth:
                return position == len(self.tokens) - 2
        return False

    def _fill(self, count: int, token: str) -> None:
        """Copies dimensions from ``like`` until there are ``count`` dimensions."""
        if self.like is None:
            self.position -= 1
            raise self.error(f"spec contains {token} but no 'like' shape was given")
        if count > len(self.like):
            self.position -= 1
            raise self.error(
                f"cannot resolve placeholder '{token}' because we parsed {len(self.dimensions)} "
                f"already and 'like' shape has only {len(self.like)} dimensions"
            )
        self.dimensions += self.like[len(self.dimensions) : count]

    def _dimension(self) -> Any:
        if self.take("_"):
            self._fill(len(self.dimensions) + 1, "_")
            return self.dimensions.pop()
        return self._sum()

    def _sum(self) -> Any:
        if self.take("-"):
            total = -self._product()
        else:
            self.take("+")
            total = self._product()
        while self.token in ("+", "-") and self.token:
            sign = self.token
            self.position += 1
            product = self._product()
            total = total + product if sign == "+" else total - product
        return total

    def _product(self) -> Any:
        product = self._power()
        while self.take("*"):
            product = product * self._power()
        return product

    def _power(self) -> Any:
        base = self._atom()
        if not self.take("^"):
            return base
        if not self.token.isdigit():
            raise self.error(f"expecting a number but found {self._found()}")
        power = int(self.token)
        self.position += 1
        return base**power

    def _atom(self) -> Any:
        token = self.token
        if token.isdigit():
            self.position += 1
            return int(token)
        if token == "-":
            self.position += 1
            return -self._power()
        if token == "(":
            self.position += 1
            inner = self._sum()
            self.expect(")")
            return inner
        if not token or not (token[0].isalpha() or token[0] == "_"):
            raise self.error(f"expecting a name, a number or '-' but found {self._found()}")
        self.position += 1
        if token in _OPERATIONS and self.token == "(":
            return self._operation(token)
        return from_factor(Factor(token), self.scope)

    def _operation(self, name: str) -> Any:
        self.expect("(")
        first = self._sum()
        self.expect(",")
        second = self._sum()
        self.expect(")")
        return expressions.OPERATIONS_OF_DIMENSIONS[name](first, second)
