# SPDX-License-Identifier: Apache-2.0
"""Traced programs of calls, and their kinds.

The kind of a program is chosen when it is traced, so calls need not inspect the program again. An
evaluator provides a function that runs programs of arrays. Each kind runs its programs through this
function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeAlias

from ..olympuspr import ClosedOlympuspr
from .options import JitOptions
from .trace_history import TraceRecord

__all__ = ["RunArrays", "TracedProgram", "add_kind_of_program", "traced_program"]

#: Function that runs a program of arrays, given program, options and operands. It returns the flat
#: results, and a second value of the evaluator's choice.
RunArrays: TypeAlias = "Callable[[TracedProgram, JitOptions, Sequence[Any]], tuple[Any, Any]]"


class TracedProgram:
    """Program of a traced function, with the structure of its result.

    Direct instances of this class are programs of arrays. Subclasses run other kinds of programs.
    `traced_program` chooses the class.

    Attributes:
      closed: the program. Its first inputs are the ``hoisted`` values.
      out_tree: the structure of the result.
      params: the parameters of a `jit` equation that calls the program.
      hoisted: tracers of outer traces, and references, over which the function closes.
      in_tree: the structure of ``(args, kwargs)`` without static arguments; None for flat operands.
      executables: the compiled forms that the evaluator keeps.
      uncompiled: the evaluator's data about the program before it is compiled.
      record: the record of the trace, for explanations, or None.
    """

    __slots__ = (
        "closed",
        "executables",
        "hoisted",
        "in_tree",
        "out_tree",
        "params",
        "record",
        "uncompiled",
    )

    #: The name of the kind.
    kind: ClassVar[str] = "arrays"

    def __init__(
        self,
        closed: ClosedOlympuspr,
        out_tree: Any,
        params: dict[str, Any],
        hoisted: list[Any],
        in_tree: Any = None,
    ) -> None:
        self.closed = closed
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.params = params
        self.hoisted = hoisted
        self.executables: dict[Any, Any] = {}
        self.uncompiled: Any = None
        self.record: TraceRecord | None = None

    @property
    def is_cold(self) -> bool:
        """Returns whether the program has run, but has never been compiled."""
        return self.uncompiled is not None and not self.executables

    def check_operands(self, leaves: Sequence[Any]) -> None:
        """Raises if the program does not accept the combination of operands; it accepts arrays."""

    def run(
        self, run_arrays: RunArrays, options: JitOptions, operands: Sequence[Any]
    ) -> tuple[Any, Any]:
        """Runs the program.

        Args:
          run_arrays: runs a program whose operands and results are arrays.
          options: the options of the compilation.
          operands: the flat operands, without the hoisted values.

        Returns:
          The flat results, and the value with which ``run_arrays`` makes later calls faster. The
          value is None for kinds of programs whose every call must go through `run`.
        """
        return run_arrays(self, options, operands)

    def array_program(self) -> TracedProgram:
        """Returns the program that is compiled in place of this program.

        All its operands and results are arrays. A program with references or values of high types,
        for example, has another program in its place.
        """
        return self

    def array_operands(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Returns the operands of `array_program`, given all operands of this program."""
        return operands

    def placed_operands(self, operands: Sequence[Any]) -> Sequence[Any]:
        """Returns the values from which the compiled program's operands get their placement."""
        return operands

    def results_of_arrays(self, operands: Sequence[Any], results: Sequence[Any]) -> Sequence[Any]:
        """Returns the results, given all operands and the results of `array_program`."""
        return results


# Kinds of traced programs whose operands or results are not all arrays, in the order in which they
# are tried.
_kinds: list[tuple[Callable[[ClosedOlympuspr], bool], type[TracedProgram]]] = []


def add_kind_of_program(
    applies: Callable[[ClosedOlympuspr], bool], kind: type[TracedProgram]
) -> None:
    """Adds a kind of programs. The kind is tried after the existing kinds.

    Args:
      applies: returns whether a program is of the kind.
      kind: the class of such programs.
    """
    _kinds.append((applies, kind))


def traced_program(
    closed: ClosedOlympuspr,
    out_tree: Any,
    params: dict[str, Any],
    hoisted: list[Any],
    in_tree: Any = None,
) -> TracedProgram:
    """Makes a traced program, of the first registered kind that applies to ``closed``."""
    kind = next((kind for applies, kind in _kinds if applies(closed)), TracedProgram)
    return kind(closed, out_tree, params, hoisted, in_tree)
