# SPDX-License-Identifier: Apache-2.0
"""Costs of compiled instructions: arithmetic operations and bytes."""

from __future__ import annotations

import math

from .compiled_modules import Instruction, Module
from .costs import Cost

__all__ = ["cost_of"]

# Instructions that only move values.
_MOVING = frozenset(
    """bitcast bitcast-convert broadcast call concatenate conditional constant copy copy-done
    copy-start custom-call domain dynamic-slice dynamic-update-slice gather get-tuple-element iota
    optimization-barrier pad parameter reshape reverse slice transpose tuple while""".split()
)


def cost_of(module: Module, instruction: Instruction) -> Cost:
    """Returns the cost of one execution of an instruction.

    A fusion does the operations of the instructions inside, and moves its own operands and results
    only. An elementwise instruction counts one operation for each element.

    Args:
      module: the module.
      instruction: an instruction of the module.
    """
    operands = [module.instructions[operand].shape.bytes for operand in instruction.operands]
    return Cost(_flops(module, instruction), sum(operands) + instruction.shape.bytes)


def _flops(module: Module, instruction: Instruction) -> int:
    elements = math.prod(instruction.shape.dimensions)
    factors = [module.instructions[operand].shape for operand in instruction.operands]
    match instruction.opcode:
        case "fusion":
            (inside,) = instruction.called
            return sum(
                _flops(module, called) for called in module.computations[inside].instructions
            )
        case "dot":
            sizes = [factors[0].dimensions[axis] for axis in instruction.contracted]
            return 2 * elements * math.prod(sizes)
        case "convolution":
            # The kernel has one part for each feature of the result. An element of the result is a
            # sum over the part for its feature.
            kernel = factors[1].dimensions
            return 2 * elements * math.prod(kernel) // kernel[instruction.output_axis]
        case "reduce" | "reduce-window" | "scatter" | "sort" | "map":
            return math.prod(factors[0].dimensions) if factors else 0
        case opcode if opcode in _MOVING:
            return 0
    return elements
