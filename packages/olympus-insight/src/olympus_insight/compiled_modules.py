# SPDX-License-Identifier: Apache-2.0
"""Optimized modules of XLA: instructions, their order, and their lines in the program.

The field numbers are those of ``hlo.proto`` and ``xla_data.proto`` of XLA.
"""

from __future__ import annotations

import functools
import math
from typing import Any, NamedTuple

from olympus_ir.diagnostics.lines import Line

from .protobufs import Message

__all__ = ["Computation", "Instruction", "Module", "Shape", "module_of", "read_module"]

# Maps XLA's code of each element type to the dtype's name and the bits per element.
_ELEMENT_TYPES = {
    1: ("bool", 8),
    2: ("int8", 8),
    3: ("int16", 16),
    4: ("int32", 32),
    5: ("int64", 64),
    6: ("uint8", 8),
    7: ("uint16", 16),
    8: ("uint32", 32),
    9: ("uint64", 64),
    10: ("float16", 16),
    11: ("float32", 32),
    12: ("float64", 64),
    15: ("complex64", 64),
    16: ("bfloat16", 16),
    18: ("complex128", 128),
    19: ("float8_e5m2", 8),
    20: ("float8_e4m3fn", 8),
    21: ("int4", 4),
    22: ("uint4", 4),
}
_TUPLE = 13


class Shape(NamedTuple):
    """The type of an instruction's result.

    Attributes:
      dtype: the name of the dtype; ``"tuple"`` for tuples.
      dimensions: the sizes of the dimensions.
      parts: the types of the parts of a tuple.
      bits: the bits of an element.
    """

    dtype: str
    dimensions: tuple[int, ...]
    parts: tuple[Shape, ...] = ()
    bits: int = 0

    @property
    def bytes(self) -> int:
        """The size of the values, without padding."""
        own = 0 if self.parts else math.prod(self.dimensions) * self.bits // 8
        return own + sum(part.bytes for part in self.parts)

    def part(self, index: tuple[int, ...]) -> Shape:
        """Returns the type of a part of a tuple."""
        shape = self
        for number in index:
            shape = shape.parts[number]
        return shape

    def __str__(self) -> str:
        if self.dtype == "tuple":
            return f"({', '.join(map(str, self.parts))})"
        return f"{self.dtype}[{','.join(map(str, self.dimensions))}]"


class Instruction(NamedTuple):
    """One instruction.

    Attributes:
      id: the id, unique in the module.
      name: the name, unique in the module.
      opcode: the operation, such as ``"fusion"``.
      shape: the type of the result.
      origin: the path of the equation that the instruction computes, such as
        ``jit(step)/jvp()/dot_general``.
      stack: the user's lines, innermost first.
      operands: the ids of its operands.
      called: the ids of the computations that it calls.
      tuple_index: the index of the part that a ``get-tuple-element`` returns.
      parameter: for a parameter, its position in the computation.
      contracted: the contracting dimensions of the first operand of a matrix product.
      output_axis: the output feature dimension of a convolution's kernel.
    """

    id: int
    name: str
    opcode: str
    shape: Shape
    origin: str
    stack: tuple[Line, ...]
    operands: list[int]
    called: list[int]
    tuple_index: int
    parameter: int
    contracted: list[int]
    output_axis: int

    @property
    def line(self) -> Line | None:
        """The user's innermost line; None if it is not known."""
        return self.stack[0] if self.stack else None

    @property
    def is_backward(self) -> bool:
        """Returns whether the instruction belongs to the backward pass of a gradient."""
        return "transpose(" in self.origin


class Computation(NamedTuple):
    """A computation: its instructions in the order in which they run, and its root."""

    name: str
    instructions: list[Instruction]
    root: int


class Module(NamedTuple):
    """An optimized module.

    Attributes:
      name: the name of the module.
      computations: the computations, by id.
      entry: the id of the computation that a call runs.
      instructions: all instructions, by id.
    """

    name: str
    computations: dict[int, Computation]
    entry: int
    instructions: dict[int, Instruction]


def read_module(data: bytes) -> Module:
    """Reads a serialized ``HloModuleProto``."""
    module = Message(data)
    lines = _stack_frames(module.message(_STACK_FRAMES))
    orders = _orders(module.message(7))
    computations: dict[int, Computation] = {}
    instructions: dict[int, Instruction] = {}
    for computation in module.messages(3):  # a computation follows the computations that it calls
        found: dict[int, Instruction] = {}
        for message in computation.messages(2):
            instruction = _instruction(message, lines)
            if not instruction.stack:
                stack = _stack_nearby(instruction, found, computations)
                instruction = instruction._replace(stack=stack)
            found[instruction.id] = instruction
        number = computation.integer(5)
        order = orders.get(number, list(found))
        computations[number] = Computation(
            computation.text(1), [found[position] for position in order], computation.integer(6)
        )
        instructions.update(found)
    return Module(module.text(1), computations, module.integer(6), instructions)


_STACK_FRAMES = 17


def _stack_nearby(
    instruction: Instruction,
    found: dict[int, Instruction],
    computations: dict[int, Computation],
) -> tuple[Line, ...]:
    """Returns source lines for an instruction that has none.

    The lines are those of one of its fused instructions or operands. This is a heuristic. For
    example, copies that the compiler adds have no source lines.
    """
    if instruction.opcode == "fusion":
        for inside in reversed(computations[instruction.called[0]].instructions):
            if inside.stack:
                return inside.stack
    for operand in instruction.operands:
        if operand in found and found[operand].stack:
            return found[operand].stack
    return ()


def _orders(schedule: Message) -> dict[int, list[int]]:
    """Returns the order of instructions of each computation that has a schedule."""
    orders = {}
    for entry in schedule.messages(1):
        orders[entry.integer(1)] = entry.message(2).integers(1)
    return orders


def _stack_frames(index: Message) -> list[tuple[Line, ...]]:
    """Returns the stack of lines of each frame, innermost first; frame 0 has an empty stack."""
    files, functions = index.texts(1), index.texts(2)

    def name(names: list[str], number: int) -> str:
        return names[number - 1] if 0 < number <= len(names) else ""

    locations = [
        Line(
            name(files, message.integer(1)), message.integer(3), name(functions, message.integer(2))
        )
        for message in index.messages(3)
    ]
    frames = [(message.integer(1), message.integer(2)) for message in index.messages(4)]

    def stack(number: int) -> tuple[Line, ...]:
        lines = []
        while 0 < number <= len(frames) and len(lines) < _MOST_FRAMES:
            location, number = frames[number - 1]
            if location:
                lines.append(locations[location - 1])
        return tuple(lines)

    return [stack(number) for number in range(len(frames) + 1)]


_MOST_FRAMES = 100


def _instruction(message: Message, stacks: list[tuple[Line, ...]]) -> Instruction:
    metadata = message.message(7)
    frame = metadata.integer(15)
    stack = stacks[frame] if frame < len(stacks) else ()
    if not stack and metadata.text(3):
        stack = (Line(metadata.text(3), metadata.integer(4)),)
    return Instruction(
        message.integer(35),
        message.text(1),
        message.text(2),
        _shape(message.bytes(3)),
        metadata.text(2),
        stack,
        message.integers(36),
        message.integers(38),
        message.integer(13),
        message.integer(9),
        message.message(30).integers(1),
        message.message(16).integer(4),
    )


@functools.lru_cache(maxsize=4096)
def _shape(data: bytes) -> Shape:
    """Reads a serialized ``ShapeProto``; most instructions of a module share a few."""
    message = Message(data)
    kind = message.integer(2)
    if kind == _TUPLE:
        return Shape("tuple", (), tuple(map(_shape, message.all_bytes(4))))
    name, bits = _ELEMENT_TYPES.get(kind, ("opaque", 0))
    return Shape(name, tuple(message.integers(3)), (), bits)


def module_of(executable: Any) -> Module:
    """Returns the module of an executable of jaxlib."""
    return read_module(executable.hlo_modules()[0].as_serialized_hlo_module_proto())
