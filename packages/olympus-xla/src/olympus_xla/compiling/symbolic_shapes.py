# SPDX-License-Identifier: Apache-2.0
"""Compilation of programs with symbolic shapes, and of programs that call such programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.symbolic.solving import solve

from .._jaxlib import JaxRuntimeError, refine_shapes
from .lowering import mlir
from .lowering.symbolic import SymbolicModuleLowering


def symbolic_module(
    name: str,
    platforms: Sequence[str],
    effects: Sequence[Any],
    shapes: Sequence[Sequence[Any]],
    name_of_operand: Callable[[int], str],
) -> SymbolicModuleLowering:
    """Returns an empty module for a program whose operands have symbolic shapes.

    Args:
      name: the name of the module.
      platforms: the platforms for which it is lowered.
      effects: the ordered effects of the program.
      shapes: the shapes of the operands.
      name_of_operand: a function that returns the name of the operand at a position, for error
        messages.

    Raises:
      ValueError: the sizes of operands do not determine the dimension variables.
    """
    solution = solve(shapes, name_of_operand)
    module = SymbolicModuleLowering(name, platforms, effects, solution=solution)
    module.module.operation.attributes["jax.uses_shape_polymorphism"] = mlir.boolean(True)
    return module


def refined(lowered: Any) -> Any:
    """Returns the module with its shapes inferred from the shapes of its operands.

    Raises:
      ValueError: operands have symbolic shapes, or sizes are inconsistent.
    """
    for aval in lowered.in_avals:
        if mlir.has_symbolic(getattr(aval, "shape", ())):
            raise ValueError(
                f"{lowered.name} was lowered for operands of symbolic shapes, such as "
                f"{aval.str_short()}, and cannot be compiled before the shapes are known. Export "
                "it, and call the exported function from a function of arrays."
            )
    try:
        artifact = refine_shapes(mlir.bytecode(lowered.module))
    except (ValueError, JaxRuntimeError) as error:
        raise ValueError(f"the shapes in {lowered.name} cannot be inferred: {error}") from error
    with mlir.lowering_lock, mlir.context(), mlir.unknown_location():
        return mlir.ir.Module.parse(artifact)
