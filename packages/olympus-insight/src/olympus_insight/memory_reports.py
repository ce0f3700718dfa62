# SPDX-License-Identifier: Apache-2.0
"""`memory`: the bytes that a program needs, before it runs."""

from __future__ import annotations

import os
from collections.abc import Sequence, Set
from typing import Any, NamedTuple

from olympus_ir.diagnostics.lines import Line
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees.flattening import result_paths

from . import memory_pictures, pages
from .buffers import Allocation, Buffer, Lifetimes, lifetimes_of, read_allocations
from .compiled_modules import Instruction, Module, module_of
from .stages import compiled_of, format_bytes

__all__ = [
    "LiveBuffer",
    "MemoryReport",
    "memory",
    "note_of_executable",
    "report_of_executable",
]

_MOST_BUFFERS = 10
_KINDS = ("argument", "result", "residual", "temporary")


class LiveBuffer(NamedTuple):
    """A buffer that is live when the program needs the most memory.

    Attributes:
      bytes: the size on each device.
      shape: the shape of the value in the buffer.
      dtype: the name of the dtype.
      kind: ``"argument"``, ``"result"``, ``"residual"``, ``"temporary"`` or ``"constant"``.
      why: the reason why the buffer is live, as a phrase.
      line: the user's line that computes the value, or that first reads an argument. If the
        compiler reports no line, this is the line that defines the function, or None.
      operation: the equation that computes the value, such as ``jit(step)/jvp()/dot_general``, or
        the name of the argument.
      saved: the bytes by which the peak would shrink if `checkpoint` recomputed the residual in the
        backward pass; zero for other buffers.
    """

    bytes: int
    shape: tuple[int, ...]
    dtype: str
    kind: str
    why: str
    line: Line | None
    operation: str
    saved: int


class MemoryReport:
    """The memory of a compiled program, on each device.

    Attributes:
      peak: the bytes that the program needs: those that are live at the peak, and the gaps.
      gaps: the bytes that the compiler allocates, though no buffer uses them at the peak.
      allocated: the bytes that XLA allocates: arguments, results and temporaries.
      arguments: the bytes of arguments.
      results: the bytes of results that do not reuse the memory of donated arguments.
      temporaries: the bytes of everything else.
      at_peak: the buffers alive at the peak, the largest first.
      timeline: for each instruction, in the order in which they run, the bytes of each kind.
      peak_line: the user's line at the peak; None if it is not known.
      name: the name of the program.
    """

    def __init__(
        self,
        name: str,
        sizes: tuple[int, int, int],
        timeline: list[dict[str, int]],
        order: list[Instruction],
        at_peak: tuple[LiveBuffer, ...],
    ) -> None:
        self.name = name
        self.arguments, self.results, self.temporaries = sizes
        self.allocated = sum(sizes)
        self.timeline = timeline
        self.at_peak = at_peak
        live = max((sum(kinds.values()) for kinds in timeline), default=self.allocated)
        self.gaps = max(self.allocated - live, 0)
        self.peak = live + self.gaps
        self._order = order
        peak = self.peak_position
        self.peak_line = order[peak].line if order else None

    @property
    def peak_position(self) -> int:
        """The position of the peak in the timeline."""
        totals = [sum(kinds.values()) for kinds in self.timeline]
        return totals.index(max(totals)) if totals else 0

    @property
    def top(self) -> tuple[LiveBuffer, ...]:
        """The ten largest buffers at the peak."""
        return self.at_peak[:_MOST_BUFFERS]

    def __str__(self) -> str:
        where = f", at {self.peak_line}" if self.peak_line else ""
        parts = [
            f"{kind} {format_bytes(size)}"
            for kind, size in (
                ("arguments", self.arguments),
                ("results", self.results),
                ("temporaries", self.temporaries),
            )
        ]
        lines = [
            f"{self.name} needs {format_bytes(self.peak)} at its peak{where}.",
            f"  {', '.join(parts)}",
        ]
        if self.top:
            lines.append("  the largest buffers at the peak:")
        for buffer in self.top:
            verb = "first read" if buffer.kind == "argument" else "made"
            location = f", {verb} at {buffer.line}" if buffer.line else ""
            lines.append(
                f"  {format_bytes(buffer.bytes):>10}  {_type_text(buffer)}  {buffer.why}{location}"
                + _saving_text(buffer)
            )
        others = self.at_peak[_MOST_BUFFERS:]
        if others:
            size = format_bytes(sum(other.bytes for other in others))
            lines.append(f"  {size:>10}  {len(others)} other buffers")
        if self._has_gaps:
            lines.append(f"  {format_bytes(self.gaps):>10}  {_GAPS}")
        return "\n".join(lines)

    __repr__ = __str__

    @property
    def _has_gaps(self) -> bool:
        """Returns whether the gaps are larger than those that alignment makes."""
        return self.gaps > max(self.peak // 100, 4096)

    def svg(self) -> str:
        """Returns a picture of the bytes in use at each instruction of the program."""
        return memory_pictures.timeline(self.timeline, self._order, self.peak_position)

    def _repr_html_(self) -> str:
        headings = ("bytes", "type", "why it is alive", "line", "checkpoint saves")
        rows = [
            (
                format_bytes(buffer.bytes),
                _type_text(buffer),
                buffer.why,
                buffer.line or "",
                format_bytes(buffer.saved) if buffer.saved else "",
            )
            for buffer in self.top
        ]
        if self._has_gaps:
            rows.append((format_bytes(self.gaps), "", _GAPS, "", ""))
        summary = str(self).splitlines()[:2]
        return pages.fragment(
            f"<h3>{pages.escaped(summary[0])}</h3><p>{pages.escaped(summary[1])}</p>",
            self.svg(),
            pages.table(headings, rows),
        )

    @api_boundary
    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the report as an HTML file that opens without a network."""
        pages.save(path, f"Memory of {self.name}", self)


_GAPS = "gaps between the buffers, as the compiler places them"


def _type_text(buffer: LiveBuffer) -> str:
    return f"{buffer.dtype}[{','.join(map(str, buffer.shape))}]"


def _saving_text(buffer: LiveBuffer) -> str:
    return f"; checkpoint saves {format_bytes(buffer.saved)}" if buffer.saved else ""


def memory(fun: Any, *args: Any, **kwargs: Any) -> MemoryReport:
    """Reports the memory that a call would need, without making the call.

    The function is compiled. The compiler's buffer assignment contains the offset of each buffer.
    The order of the instructions determines when each buffer is live. Sizes are those on each
    device.

    A residual is a value of the forward pass that the backward pass of a gradient reads. The bytes
    that `checkpoint` would save are a heuristic estimate: the reduction of the peak if the residual
    were freed between its last use in the forward pass and its first use in the backward pass. A
    residual that a loop stacks is estimated as if it were never stored, because each iteration of
    the backward pass would recompute its slice. Temporary values of the recomputation are not
    counted.

    Args:
      fun: a function, compiled or not, or a stage of ``jit(f).lower(...).compile()``.
      *args: the arguments of ``fun``, or `ShapeDtypeStruct` in their place.
      **kwargs: the keyword arguments of the function.

    Returns:
      A `MemoryReport`: ``peak``, and ``top``, the ten largest buffers at the peak. The report
      prints as text, notebooks show a table and a picture, and ``save`` writes an HTML file.

    Raises:
      TypeError: ``fun`` is not callable.

    Example:
      >>> import numpy as np
      >>> from olympus_xla import jit
      >>> report = memory(lambda x: x + 1, np.zeros((256, 256), np.float32))
      >>> report.peak
      524288
      >>> report.top[0].kind, report.top[0].shape
      ('result', (256, 256))
    """
    compiled = compiled_of(fun, args, kwargs)
    names = result_paths(compiled.out_tree)
    donated = set(compiled.donate_argnums)
    kept = [
        position for position, keep in enumerate(compiled._executable.compiled.lowered.kept) if keep
    ]
    constants = len(compiled._executable.compiled.constants)
    positions = {
        constants + position for position, argument in enumerate(kept) if argument in donated
    }
    code = getattr(compiled._executable.program.closed.jaxpr.debug_info.origin, "code", None)
    defined = Line(code.co_filename, code.co_firstlineno, code.co_qualname) if code else None
    return report_of_executable(compiled.runtime_executable(), names, positions, defined)


def report_of_executable(
    executable: Any,
    result_names: Sequence[str] = (),
    donated: Set[int] = frozenset(),
    defined: Line | None = None,
) -> MemoryReport:
    """Returns the report of an executable of jaxlib.

    Args:
      executable: the executable.
      result_names: the paths of the results.
      donated: the positions of the operands whose memory results may reuse.
      defined: the line that defines the function.
    """
    statistics = executable.get_compiled_memory_stats()
    module = module_of(executable)
    sizes = (
        statistics.argument_size_in_bytes,
        statistics.output_size_in_bytes - statistics.alias_size_in_bytes,
        statistics.temp_size_in_bytes,
    )
    data = statistics.serialized_buffer_assignment_proto
    if not data:  # executables from disk and of some platforms have no assignment
        return MemoryReport(module.name, sizes, [], [], ())
    allocations = read_allocations(data)
    return _Analysis(module, allocations, result_names, donated, defined).report(sizes)


def note_of_executable(executable: Any) -> str | None:
    """Returns a text about the memory of an executable, for errors about too little memory."""
    try:
        return str(report_of_executable(executable))
    except Exception:  # a failing report must not replace the error
        return None


class _Analysis:
    """The buffers of a program with their kinds and lifetimes."""

    def __init__(
        self,
        module: Module,
        allocations: list[Allocation],
        result_names: Sequence[str],
        donated: Set[int],
        defined: Line | None,
    ) -> None:
        self.module = module
        self.allocations = [allocation for allocation in allocations if not allocation.is_constant]
        self.result_names = result_names
        self.donated = donated
        self.defined = defined
        self.lifetimes: Lifetimes = lifetimes_of(module, allocations)
        self.spans: dict[int, tuple[int, int]] = {}
        self.kinds = {
            buffer.id: self._kind(allocation, buffer)
            for allocation in self.allocations
            for buffer in allocation.buffers
        }

    def report(self, sizes: tuple[int, int, int]) -> MemoryReport:
        timeline = self._timeline()
        totals = [sum(kinds.values()) for kinds in timeline]
        peak = totals.index(max(totals))
        at_peak = [
            self._described(allocation, buffer, totals) for allocation, buffer in self._alive(peak)
        ]
        at_peak.sort(key=lambda buffer: -buffer.bytes)
        return MemoryReport(self.module.name, sizes, timeline, self.lifetimes.order, tuple(at_peak))

    # ---- kinds ----

    def _kind(self, allocation: Allocation, buffer: Buffer) -> str:
        if allocation.parameter is not None:
            return "argument"
        if buffer.id in self.lifetimes.results:
            return "result"
        return "residual" if self._gap(buffer) else "temporary"

    def _gap(self, buffer: Buffer) -> tuple[int, int] | None:
        """Returns a residual's last forward and first backward use; None for other buffers."""
        order = self.lifetimes.order
        if buffer.id not in self.lifetimes.live:
            return None
        start = self.lifetimes.live[buffer.id][0]
        if "jvp(" not in order[start].origin or order[start].is_backward:
            return None
        readers = self.lifetimes.readers[buffer.id]
        backward = [position for position in readers if order[position].is_backward]
        if not backward:
            return None
        forward = [position for position in readers if position < min(backward)]
        return max(forward, default=start), min(backward)

    # ---- bytes over the order of the program ----

    def _timeline(self) -> list[dict[str, int]]:
        """Returns the bytes of each kind at each instruction, and records buffers' lifetimes."""
        length = len(self.lifetimes.order)
        changes: list[dict[str, int]] = [{} for _ in range(length + 1)]

        def add(kind: str, start: int, stop: int, size: int) -> None:
            changes[start][kind] = changes[start].get(kind, 0) + size
            changes[stop][kind] = changes[stop].get(kind, 0) - size

        for allocation in self.allocations:
            if allocation.is_fixed:
                kind = "argument" if allocation.parameter is not None else "result"
                add(kind, 0, length, allocation.size)
                continue
            for first, last, buffer in self._slices(allocation):
                self.spans[buffer.id] = first, last
                add(self.kinds[buffer.id], first, last + 1, buffer.size)
        totals: dict[str, int] = dict.fromkeys(_KINDS, 0)
        timeline = []
        for change in changes[:length]:
            for kind, size in change.items():
                totals[kind] += size
            timeline.append(dict(totals))
        return timeline

    def _slices(self, allocation: Allocation) -> list[tuple[int, int, Buffer]]:
        """Returns, for each part of an allocation, its first and last instruction and its buffer.

        Buffers of one offset and size whose lifetimes overlap hold the same value, such as the
        state of a loop. They form one part.
        """
        spans: dict[tuple[int, int], list[tuple[int, int, Buffer]]] = {}
        for buffer in allocation.buffers:
            if buffer.id in self.lifetimes.live:
                span = (*self.lifetimes.live[buffer.id], buffer)
                spans.setdefault((buffer.offset, buffer.size), []).append(span)
        parts = []
        for spans_of_part in spans.values():
            spans_of_part.sort(key=lambda span: span[:2])
            first, last, buffer = spans_of_part[0]
            for start, stop, other in spans_of_part[1:]:
                if start <= last:
                    last = max(last, stop)
                    if self.kinds[other.id] == "residual":
                        buffer = other
                else:
                    parts.append((first, last, buffer))
                    first, last, buffer = start, stop, other
            parts.append((first, last, buffer))
        return parts

    def _alive(self, position: int) -> list[tuple[Allocation, Buffer]]:
        alive = []
        for allocation in self.allocations:
            if allocation.is_fixed:
                alive.append((allocation, self._main_buffer(allocation)))
            else:
                alive += [
                    (allocation, buffer)
                    for first, last, buffer in self._slices(allocation)
                    if first <= position <= last
                ]
        return alive

    def _main_buffer(self, allocation: Allocation) -> Buffer:
        """Returns the buffer that determines the kind of an allocation of fixed size."""
        buffers = allocation.buffers
        for buffer in buffers:
            if allocation.parameter is None and buffer.id in self.lifetimes.results:
                return buffer
            defined = self.module.instructions.get(buffer.instruction)
            if allocation.parameter is not None and defined and defined.opcode == "parameter":
                return buffer
        return max(buffers, key=lambda buffer: buffer.size)

    # ---- words ----

    def _described(self, allocation: Allocation, buffer: Buffer, totals: list[int]) -> LiveBuffer:
        instruction = self.module.instructions[buffer.instruction]
        shape = instruction.shape.part(buffer.part)
        kind = self.kinds[buffer.id]
        line, operation = instruction.line, instruction.origin
        readers = [self.lifetimes.order[position] for position in self.lifetimes.readers[buffer.id]]
        saved = 0
        match kind:
            case "argument":
                line = next((reader.line for reader in readers if reader.line), line)
                why = self._why_argument(allocation, instruction)
            case "result":
                why = f"result {self._result_name(buffer)}".rstrip()
            case "residual":
                saved = self._saved(buffer, totals)
                why = "residual of the backward pass" + _read_by(
                    [reader for reader in readers if reader.is_backward]
                )
            case _:
                why = "temporary" + _read_by(readers)
        size = allocation.size if allocation.is_fixed else buffer.size
        line = line or self.defined
        return LiveBuffer(size, shape.dimensions, shape.dtype, kind, why, line, operation, saved)

    def _why_argument(self, allocation: Allocation, instruction: Instruction) -> str:
        name = instruction.origin or f"operand {allocation.parameter}"
        if allocation.holds_result:
            return f"argument {name}, donated: a result takes its memory"
        if allocation.parameter in self.donated:
            return f"argument {name}, donated, but no result takes its memory"
        return f"argument {name}, not donated"

    def _result_name(self, buffer: Buffer) -> str:
        root = self.module.instructions[self.module.computations[self.module.entry].root]
        if root.opcode != "tuple":
            return self.result_names[0] if self.result_names else ""
        for position, operand in enumerate(root.operands):
            if operand == buffer.instruction and position < len(self.result_names):
                return self.result_names[position]
        return ""

    def _saved(self, buffer: Buffer, totals: list[int]) -> int:
        first, last = self._waiting(buffer)
        without = [
            total - buffer.size if first < position < last else total
            for position, total in enumerate(totals)
        ]
        return max(totals) - max(without)

    def _waiting(self, buffer: Buffer) -> tuple[int, int]:
        """Returns the instructions between which a residual is not needed if it is checkpointed.

        A residual that a loop stacks is not needed at all: each iteration computes its part again.
        """
        if "/while" in self.module.instructions[buffer.instruction].origin:
            first, last = self.spans[buffer.id]
            return first - 1, last + 1
        gap = self._gap(buffer)
        assert gap is not None
        return gap


def _read_by(readers: Sequence[Instruction]) -> str:
    for reader in readers:
        if reader.line:
            return f", read at {reader.line}"
    return ""
