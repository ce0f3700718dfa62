# SPDX-License-Identifier: Apache-2.0
"""Construction of MLIR operations in a block, for the equation that is being lowered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import mlir
from .mlir import ir

__all__ = ["BlockBuilder", "create_operation"]

create_operation = ir.Operation.create


class BlockBuilder:
    """A block that is being filled with operations, and the equation that is being lowered.

    Attributes:
      block: the MLIR block.
      equation: the equation being lowered, with the types of its operands and results.
      insertion_point: the end of the block.
      location: the location of the operations being built.
    """

    __slots__ = ("block", "equation", "insertion_point", "location")

    def __init__(self, block: Any) -> None:
        self.block = block
        self.insertion_point = ir.InsertionPoint(block)
        self.location = mlir.unknown_location()
        self.equation: Any = None

    # ---- types ----

    @property
    def avals_in(self) -> list[Any]:
        return [atom.aval for atom in self.equation.invars]

    @property
    def avals_out(self) -> list[Any]:
        return [var.aval for var in self.equation.outvars]

    @property
    def aval_out(self) -> Any:
        return self.equation.outvars[0].aval

    # ---- operations ----

    def create(
        self, name: str, result_type: Any, operands: Sequence[Any] = (), attributes: Any = None
    ) -> Any:
        """Adds an operation with one result, and returns the result."""
        return create_operation(
            name,
            [result_type],
            operands,
            attributes,
            loc=self.location,
            ip=self.insertion_point,
            infer_type=False,
        ).result

    def operation(
        self,
        name: str,
        result_types: Sequence[Any],
        operands: Sequence[Any] = (),
        attributes: dict[str, Any] | None = None,
        *,
        regions: int = 0,
    ) -> Any:
        """Adds an operation with any number of results and regions."""
        return create_operation(
            name,
            list(result_types),
            list(operands),
            attributes,
            regions=regions,
            loc=self.location,
            ip=self.insertion_point,
            infer_type=False,
        )

    def new_block(self, operation: Any, index: int, argument_types: Sequence[Any]) -> Any:
        """Appends a block to one of an operation's regions, and returns the block."""
        return operation.regions[index].blocks.append(
            *argument_types, arg_locs=[self.location] * len(argument_types)
        )
