# SPDX-License-Identifier: Apache-2.0
"""The operands and results of `scan` and `while`, grouped by their roles in the loop.

An equation has one list of operands. Two of its parameters state the number of operands of each
role. `ScanLayout` and `WhileLayout` read these parameters, and split a list of operands, flags or
types into named parts. `ScanOperands` and `WhileOperands` hold the parts. A rule that makes a new
loop builds one of these objects, and reads the operands and parameters of the new equation from it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

__all__ = ["ScanLayout", "ScanOperands", "ScanResults", "WhileLayout", "WhileOperands"]

T = TypeVar("T")


class ScanOperands(NamedTuple, Generic[T]):
    """The operands of a `scan`, grouped by their roles.

    Instead of the operands, the groups may hold one other value for each operand, such as its type.

    Attributes:
      consts: the operands that every iteration receives unchanged.
      carry: the first values of the carry.
      xs: the operands that are scanned over. Each iteration receives a slice of each operand.
    """

    consts: Sequence[T]
    carry: Sequence[T]
    xs: Sequence[T]

    @property
    def flat(self) -> list[T]:
        """The operands in the order of the equation, which the body's inputs share."""
        return [*self.consts, *self.carry, *self.xs]

    @property
    def layout(self) -> ScanLayout:
        return ScanLayout(len(self.consts), len(self.carry))


class ScanResults(NamedTuple, Generic[T]):
    """The results of a `scan` or of its body, grouped by their roles.

    Instead of the results, the groups may hold one other value for each result, such as its type.

    Attributes:
      carry: the last values of the carry; for the body, the next values of the carry.
      ys: the stacked results; for the body, the results of one iteration.
    """

    carry: Sequence[T]
    ys: Sequence[T]


class ScanLayout(NamedTuple):
    """The numbers of operands of a `scan` in each role; the remaining operands are ``xs``.

    Example:
      >>> ScanLayout(num_consts=1, num_carry=2).operands("abcde")
      ScanOperands(consts='a', carry='bc', xs='de')
      >>> ScanLayout(num_consts=1, num_carry=2).results("xyz")
      ScanResults(carry='xy', ys='z')
    """

    num_consts: int
    num_carry: int

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> ScanLayout:
        """Returns the layout that an equation's parameters describe."""
        return cls(params["num_consts"], params["num_carry"])

    @property
    def params(self) -> dict[str, int]:
        """Returns the parameters of an equation with this layout."""
        return {"num_consts": self.num_consts, "num_carry": self.num_carry}

    def operands(self, values: Sequence[T]) -> ScanOperands[T]:
        """Groups the operands, or a list with one value for each operand, by role."""
        first_x = self.num_consts + self.num_carry
        return ScanOperands(
            values[: self.num_consts], values[self.num_consts : first_x], values[first_x:]
        )

    def results(self, values: Sequence[T]) -> ScanResults[T]:
        """Groups the results, or a list with one value for each result, by role."""
        return ScanResults(values[: self.num_carry], values[self.num_carry :])


class WhileOperands(NamedTuple, Generic[T]):
    """The operands of a `while`, grouped by their roles.

    Instead of the operands, the groups may hold one other value for each operand, such as its type.

    Attributes:
      cond_consts: the operands that only the condition uses.
      body_consts: the operands that only the body uses.
      carry: the first values of the carry. The results of the equation have the same order.
    """

    cond_consts: Sequence[T]
    body_consts: Sequence[T]
    carry: Sequence[T]

    @property
    def flat(self) -> list[T]:
        """The operands in the order of the equation."""
        return [*self.cond_consts, *self.body_consts, *self.carry]

    @property
    def of_cond(self) -> list[T]:
        """Returns the inputs of the condition."""
        return [*self.cond_consts, *self.carry]

    @property
    def of_body(self) -> list[T]:
        """Returns the inputs of the body."""
        return [*self.body_consts, *self.carry]

    @property
    def layout(self) -> WhileLayout:
        return WhileLayout(len(self.cond_consts), len(self.body_consts))


class WhileLayout(NamedTuple):
    """The numbers of operands of a `while` in each role; the remaining operands are the carry."""

    cond_nconsts: int
    body_nconsts: int

    @classmethod
    def of(cls, params: Mapping[str, Any]) -> WhileLayout:
        """Returns the layout that an equation's parameters describe."""
        return cls(params["cond_nconsts"], params["body_nconsts"])

    @property
    def params(self) -> dict[str, int]:
        """Returns the parameters of an equation with this layout."""
        return {"cond_nconsts": self.cond_nconsts, "body_nconsts": self.body_nconsts}

    def operands(self, values: Sequence[T]) -> WhileOperands[T]:
        """Groups the operands, or a list with one value for each operand, by role."""
        first_carry = self.cond_nconsts + self.body_nconsts
        return WhileOperands(
            values[: self.cond_nconsts],
            values[self.cond_nconsts : first_carry],
            values[first_carry:],
        )
