# SPDX-License-Identifier: Apache-2.0
"""Report of the time spent before computations run."""

from __future__ import annotations

import time
from typing import NamedTuple

from olympus_ir import loading
from olympus_ir.diagnostics import phases

from .compiler import CompiledProgram, compiled_programs

__all__ = ["TimeReport", "time_report"]

_MOST_ROWS = 20


class TimeReport(NamedTuple):
    """Seconds that the process has spent so far, by phase.

    Attributes:
      importing: the time to import OLYMPUS, including modules that are imported on first use.
      tracing: the time to turn Python functions into programs.
      lowering: the time to turn programs into modules for XLA.
      compiling: the time to turn modules into machine code, or to load machine code from disk.
      elapsed: the time since OLYMPUS was imported, plus the time to import it.
      processor: the processor time of all threads since the process began.
      traced: the number of functions that were traced.
      programs: the programs that were compiled or loaded, in order; at most the last 2,000.
    """

    importing: float
    tracing: float
    lowering: float
    compiling: float
    elapsed: float
    processor: float
    traced: int
    programs: tuple[CompiledProgram, ...]

    def __str__(self) -> str:
        loaded = sum(program.from_disk for program in self.programs)
        waited = self.importing + self.tracing + self.lowering + self.compiling
        lines = [
            f"{self.elapsed:9.3f} s in all ({self.processor:.3f} s of processor time)",
            f"{self.importing:9.3f} s importing",
            f"{self.tracing:9.3f} s tracing {self.traced} functions",
            f"{self.lowering:9.3f} s lowering them",
            (
                f"{self.compiling:9.3f} s compiling {len(self.programs) - loaded} programs, and "
                f"loading {loaded} from disk"
            ),
            f"{max(self.elapsed - waited, 0.0):9.3f} s running, and everything else",
        ]
        slowest = sorted(self.programs, key=lambda program: -program.seconds)
        if slowest:
            lines += ["", "  seconds  equations  program"]
        for program in slowest[:_MOST_ROWS]:
            origin = ", from disk" if program.from_disk else ""
            location = f", {program.source}" if program.source else ""
            lines.append(
                f"{program.seconds:9.3f}  {program.equations:9d}  {program.name}{location}{origin}"
            )
        if len(slowest) > _MOST_ROWS:
            others = slowest[_MOST_ROWS:]
            seconds = sum(program.seconds for program in others)
            lines.append(f"{seconds:9.3f}             {len(others)} other programs")
        return "\n".join(lines)


def time_report(*, show: bool = True) -> TimeReport:
    """Reports the time spent on imports, tracing, lowering, and the compilation of each program.

    The time of a phase excludes the phases inside it, such as the compilation of an operation while
    a function is traced. The times of parallel threads add up. The remaining time goes to running
    compiled programs and to the user's own code.

    Args:
      show: whether to print the report.

    Returns:
      A `TimeReport`.

    Example:
      >>> report = time_report(show=False)
      >>> report.elapsed > report.compiling
      True
    """
    spent = phases.seconds_spent
    report = TimeReport(
        loading.import_seconds(),
        spent["tracing"],
        spent["lowering"],
        spent["compiling"],
        time.time() - phases.loaded_at + loading.import_seconds(),
        time.process_time(),
        phases.phase_counts["tracing"],
        tuple(compiled_programs),
    )
    if show:
        print(report)
    return report
