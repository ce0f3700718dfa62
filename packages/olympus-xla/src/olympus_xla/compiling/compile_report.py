# SPDX-License-Identifier: Apache-2.0
"""Reports of changes that make programs compile faster."""

from __future__ import annotations

from collections import Counter

from olympus_ir.diagnostics.source_info import summarize
from olympus_ir.types.records import Record

from .lowering.cuts.fusions import estimated_seconds
from .lowering.lowered import Lowered
from .lowering.repetition import block_p

__all__ = ["CompileReport", "report_of"]


class CompileReport(Record):
    """Report of changes that make a program compile faster, which prints as text.

    Attributes:
      name: the name of the program.
      equations: the number of equations.
      cuts: pairs of a source line and the number of its values that are kept in memory. Without a
        cut, the compiler would compute a value again at each use.
      operations_before: the estimated number of operations to compile without cuts; 0 if there are
        no cuts.
      operations: the estimated number of operations with the cuts.
      windows: the number of slices whose constant starts are hidden from the compiler, so that
        equal steps of unrolled code become equal functions, which are compiled once.
      blocks: triples of the source line of a repeated block, the number of its equations, and the
        number of its repetitions. These blocks became calls of one function.
    """

    name: str
    equations: int
    cuts: tuple[tuple[str, int], ...]
    operations_before: int
    operations: int
    windows: int
    blocks: tuple[tuple[str, int, int], ...]

    def __str__(self) -> str:
        lines = [f"{self.name}: {self.equations} equations"]
        if not self.cuts and not self.windows and not self.blocks:
            lines.append("compiled as it is")
        if self.cuts:
            count = sum(number for _, number in self.cuts)
            before, after = map(estimated_seconds, (self.operations_before, self.operations))
            lines.append(
                f"{count} values are kept in memory, for an estimated compile time of "
                f"{after:.1f} s instead of {before:.1f} s:"
            )
            lines += [f"  {number:4d} at {line}" for line, number in self.cuts]
        if self.windows:
            lines.append(f"{self.windows} slices take their starts from memory")
        if self.blocks:
            lines.append("repeated blocks are calls of one function:")
            lines += [
                f"  {times:4d} of {size} equations at {line}" for line, size, times in self.blocks
            ]
        return "\n".join(lines)


def report_of(lowered: Lowered) -> CompileReport:
    """Returns the report of a lowered program."""
    locations: Counter[str] = Counter()
    for cuts in lowered.cuts:
        locations.update(summarize(equation.source_info) for equation in cuts.equations)
    blocks: dict[int, tuple[str, int, int]] = {}
    for equation in lowered.program.jaxpr.eqns:
        if equation.primitive is block_p:
            body = equation.params["call_jaxpr"].jaxpr
            line, size, times = blocks.get(
                id(body), (summarize(equation.source_info), len(body.eqns), 0)
            )
            blocks[id(body)] = (line, size, times + 1)
    return CompileReport(
        name=lowered.name,
        equations=len(lowered.closed.jaxpr.eqns),
        cuts=tuple(locations.most_common()),
        operations_before=sum(cuts.operations_before for cuts in lowered.cuts),
        operations=sum(cuts.operations for cuts in lowered.cuts),
        windows=sum(len(cuts.windows) for cuts in lowered.cuts),
        blocks=tuple(blocks.values()),
    )
