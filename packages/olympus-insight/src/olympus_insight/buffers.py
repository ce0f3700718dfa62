# SPDX-License-Identifier: Apache-2.0
"""Buffers of a compiled program: the bytes that are live while each instruction runs.

XLA's buffer assignment (``BufferAssignmentProto``) contains the offset of each buffer, but not its
lifetime. This module follows the buffers through the scheduled program. A buffer lives from the
instruction that defines it to the last instruction that reads it, alone or as a part of a tuple,
through loops and calls.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from .compiled_modules import Instruction, Module
from .protobufs import Message

__all__ = ["Allocation", "Buffer", "Lifetimes", "lifetimes_of", "read_allocations"]

Index = tuple[int, ...]


class Buffer(NamedTuple):
    """A part of an allocation that holds one value.

    Attributes:
      id: the buffer's id in the buffer assignment.
      instruction: the id of the instruction that defines the buffer.
      part: the index of the value in the tuple that the instruction returns; empty for arrays.
      offset: the offset in the allocation, in bytes.
      size: the size in bytes.
    """

    id: int
    instruction: int
    part: Index
    offset: int
    size: int


class Allocation(NamedTuple):
    """Block of memory that is allocated as a whole.

    Attributes:
      size: the size in bytes.
      parameter: the position, among the program's operands, of the operand that the allocation
        stores; None if it stores no operand.
      holds_result: whether the allocation stores a result at the end.
      is_constant: whether the allocation stores a constant of the program.
      buffers: the buffers in the allocation.
    """

    size: int
    parameter: int | None
    holds_result: bool
    is_constant: bool
    buffers: list[Buffer]

    @property
    def is_fixed(self) -> bool:
        """Returns whether the memory is allocated for the whole run."""
        return self.parameter is not None or self.holds_result or self.is_constant


def read_allocations(data: bytes) -> list[Allocation]:
    """Reads a serialized ``BufferAssignmentProto``; memory of single threads is left out."""
    message = Message(data)
    defined: dict[int, tuple[int, Index]] = {}
    for logical_buffer in message.messages(1):
        location = logical_buffer.message(3)
        defined[logical_buffer.integer(1)] = location.integer(4), tuple(location.integers(3))
    allocations = []
    for allocation in message.messages(3):
        if allocation.integer(3):
            continue
        buffers = [
            Buffer(
                assigned.integer(1),
                *defined[assigned.integer(1)],
                assigned.integer(2),
                assigned.integer(3),
            )
            for assigned in allocation.messages(9)
        ]
        parameter = allocation.integer(6) if allocation.integer(5) else None
        allocations.append(
            Allocation(
                allocation.integer(2),
                parameter,
                bool(allocation.integer(7)),
                bool(allocation.integer(12)),
                buffers,
            )
        )
    return allocations


class Lifetimes(NamedTuple):
    """The lifetimes of buffers.

    Attributes:
      order: the instructions in the order in which they run; the instructions of a loop's body
        appear once.
      live: for each buffer, the positions of the first and the last instruction that need it.
      readers: for each buffer, the positions of the instructions that read it.
      results: the buffers of the results.
    """

    order: list[Instruction]
    live: dict[int, tuple[int, int]]
    readers: dict[int, list[int]]
    results: set[int]


# Instructions that return their operands unchanged.
_PASSING = frozenset({"bitcast", "optimization-barrier", "add-dependency", "domain", "copy-done"})

# Maps the index of each part of an instruction's result to the ids of the part's buffers.
Contents = dict[Index, set[int]]


class _Walk:
    """Follows buffers through the computations of a module, in order of execution."""

    def __init__(self, module: Module, allocations: list[Allocation]) -> None:
        self.module = module
        self.own: dict[int, Contents] = defaultdict(dict)
        for allocation in allocations:
            for buffer in allocation.buffers:
                self.own[buffer.instruction][buffer.part] = {buffer.id}
        self.contents: dict[int, Contents] = {}
        self.order: list[Instruction] = []
        self.defined: dict[int, int] = {}
        self.readers: dict[int, list[int]] = defaultdict(list)

    def run(self, computation: int, arguments: list[Contents]) -> Contents:
        """Walks a computation; returns the buffers of its root."""
        found = self.module.computations[computation]
        for instruction in found.instructions:
            if instruction.opcode == "parameter" and instruction.parameter < len(arguments):
                passed = arguments[instruction.parameter]
            else:
                passed = self._passed(instruction)
            contents = _joined(passed, self.own.get(instruction.id, {}))
            self.contents[instruction.id] = contents
            position = len(self.order)
            self.order.append(instruction)
            if instruction.opcode not in ("tuple", "get-tuple-element", "bitcast", "parameter"):
                self._note_reads(instruction, position)
            for buffers in self.own.get(instruction.id, {}).values():
                for buffer in buffers:
                    self.defined.setdefault(buffer, position)
        self._note_reads_of(self.contents[found.root], len(self.order) - 1)
        return self.contents[found.root]

    def _note_reads(self, instruction: Instruction, position: int) -> None:
        for operand in instruction.operands:
            self._note_reads_of(self.contents.get(operand, {}), position)

    def _note_reads_of(self, contents: Contents, position: int) -> None:
        for buffers in contents.values():
            for buffer in buffers:
                self.readers[buffer].append(position)

    def _passed(self, instruction: Instruction) -> Contents:
        """Returns the buffers of operands that an instruction passes on to its result."""
        operands = [self.contents.get(operand, {}) for operand in instruction.operands]
        match instruction.opcode:
            case "tuple":
                return {
                    (position, *index): buffers
                    for position, contents in enumerate(operands)
                    for index, buffers in contents.items()
                }
            case "get-tuple-element":
                return {
                    index[1:]: buffers
                    for index, buffers in operands[0].items()
                    if index[:1] == (instruction.tuple_index,)
                }
            case "while":
                body, condition = instruction.called
                state = operands[0]
                self.run(condition, [state])
                return _joined(state, self.run(body, [state]))
            case "call" | "async-start":
                results = [self.run(computation, operands) for computation in instruction.called]
                return results[0] if results else {}
            case "conditional":
                joined: Contents = {}
                for computation, argument in zip(instruction.called, operands[1:], strict=False):
                    joined = _joined(joined, self.run(computation, [argument]))
                return joined
            case opcode if opcode in _PASSING:
                return operands[0] if operands else {}
        return {}


def _joined(contents: Contents, other: Contents) -> Contents:
    return {
        index: contents.get(index, set()) | other.get(index, set())
        for index in {**contents, **other}
    }


def lifetimes_of(module: Module, allocations: list[Allocation]) -> Lifetimes:
    """Returns the lifetimes of the buffers of a program."""
    walk = _Walk(module, allocations)
    results = walk.run(module.entry, [])
    end = len(walk.order) - 1
    returned = {buffer for buffers in results.values() for buffer in buffers}
    live: dict[int, tuple[int, int]] = {}
    for allocation in allocations:
        for buffer in allocation.buffers:
            start = walk.defined.get(buffer.id)
            if start is None:  # defined inside another instruction, such as a fusion
                continue
            last = end if buffer.id in returned else max(walk.readers[buffer.id], default=start)
            live[buffer.id] = start, max(start, last)
    return Lifetimes(walk.order, live, walk.readers, returned)
