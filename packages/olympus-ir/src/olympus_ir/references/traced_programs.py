# SPDX-License-Identifier: Apache-2.0
"""Traced programs with references among their inputs. They run in a pure form.

The pure program takes the array of each reference, and returns a new array in the same memory. An
array that is also used elsewhere, for example after ``ref[...]``, is copied first.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..lax.elementwise.conversion import copy_p
from ..programs.calls.options import JitOptions
from ..programs.calls.traced_programs import RunArrays, TracedProgram, add_kind_of_program
from ..programs.olympuspr import ClosedOlympuspr
from ..programs.tracing import Tracer, escaped_tracer_error
from ..trees.pytrees import tree_structure
from ..types.references import check_aliases
from .discharge import Discharged, discharge_closed

__all__ = ["ProgramWithReferences"]


class ProgramWithReferences(TracedProgram):
    """Program with references among its inputs."""

    __slots__ = ()

    kind = "references"

    def check_operands(self, leaves: Sequence[Any]) -> None:
        """Raises ValueError if a reference occurs twice among the operands."""
        check_aliases(self.closed.debug_info, self.hoisted, leaves)

    def run(
        self, run_arrays: RunArrays, options: JitOptions, operands: Sequence[Any]
    ) -> tuple[list[Any], None]:
        """Runs the pure program. Afterwards the references hold the new arrays."""
        every = [*self.hoisted, *operands]
        for operand in every:
            if isinstance(operand, Tracer):
                raise escaped_tracer_error(operand, "was used by a compiled function")
        results, _ = run_arrays(self.array_program(), options, self.array_operands(every))
        return self.results_of_arrays(every, results), None

    def array_program(self) -> TracedProgram:
        """Returns the pure program. Its last results are the arrays that were written."""
        return self._pure().program

    def array_operands(self, operands: Sequence[Any]) -> list[Any]:
        """Returns the operands with each reference replaced by its array."""
        discharged = self._pure().discharged
        arrays = list(operands)
        for position in discharged.refs:
            ref = operands[position]
            arrays[position] = ref._array
            if position in discharged.written and not ref._owned:
                arrays[position] = copy_p.bind(ref._array)
        return arrays

    def results_of_arrays(self, operands: Sequence[Any], results: Sequence[Any]) -> list[Any]:
        """Returns the results, and puts the written arrays into the references."""
        discharged = self._pure().discharged
        count = discharged.num_results
        for position, array in zip(discharged.written, results[count:], strict=True):
            operands[position]._replace(array)
        return list(results[:count])

    def _pure(self) -> _PureProgram:
        pure = self.executables.get(_PureProgram)
        if pure is None:
            pure = self.executables[_PureProgram] = _PureProgram(self)
        return pure


class _PureProgram:
    """Pure form of a program with references.

    Attributes:
      program: the pure program, with arrays in place of references.
      discharged: the `Discharged`, which relates the inputs and results of both programs.
    """

    __slots__ = ("discharged", "program")

    def __init__(self, program: TracedProgram) -> None:
        discharged = discharge_closed(program.closed)
        olympuspr = discharged.closed.jaxpr
        results = olympuspr.outvars[: discharged.num_results]
        outvars = [*results, *[discharged.last_value(position) for position in discharged.written]]
        closed = discharged.closed.replace(jaxpr=olympuspr.replace(outvars=outvars))
        donated = list(program.params["donated_invars"])
        for position in discharged.refs:  # a reference that the program only reads keeps its array
            donated[position] = position in discharged.written
        params = {**program.params, "jaxpr": closed, "donated_invars": tuple(donated)}
        out_tree = tree_structure([0] * len(outvars))
        self.discharged: Discharged = discharged
        self.program = TracedProgram(closed, out_tree, params, [], program.in_tree)


def _has_references(closed: ClosedOlympuspr) -> bool:
    return any(var.aval.is_ref for var in closed.jaxpr.invars)


add_kind_of_program(_has_references, ProgramWithReferences)
