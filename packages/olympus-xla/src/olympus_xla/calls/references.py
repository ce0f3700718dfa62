# SPDX-License-Identifier: Apache-2.0
"""Calls of programs with references, which are compiled in their pure form.

A reference holds a device array. A compiled program takes the array and returns the next one in
its memory. An array that is held elsewhere too, as after ``ref[...]``, is copied first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.calls.options import JitOptions
from olympus_ir.programs.calls.traced_programs import TracedProgram
from olympus_ir.programs.tracing import Tracer, escaped_tracer_error
from olympus_ir.references import primitives as references
from olympus_ir.references.discharge import Discharged, discharge_closed
from olympus_ir.references.values import Ref
from olympus_ir.trees.pytrees import tree_structure
from olympus_ir.types.avals import get_aval
from olympus_ir.types.references import AbstractRef

from ..arrays.transfer import put_leaf
from .program_executables import compiled_for
from .result_checks import check_results, checks_results


class PureProgram:
    """Pure form of a program with references.

    Attributes:
      program: the pure program, of arrays in place of references.
      discharged: the correspondence of its inputs and results to those of the original.
    """

    __slots__ = ("discharged", "program")

    def __init__(self, program: TracedProgram) -> None:
        discharged = discharge_closed(program.closed)
        olympuspr = discharged.closed.jaxpr
        results = olympuspr.outvars[: discharged.num_results]
        outvars = [*results, *[discharged.last_value(place) for place in discharged.written]]
        closed = discharged.closed.replace(jaxpr=olympuspr.replace(outvars=outvars))
        donated = list(program.params["donated_invars"])
        for place in discharged.written:
            donated[place] = True
        params = {**program.params, "jaxpr": closed, "donated_invars": tuple(donated)}
        out_tree = tree_structure([0] * len(outvars))
        self.discharged: Discharged = discharged
        self.program = TracedProgram(closed, out_tree, params, [], program.in_tree)

    def run(self, call: Callable[[list[Any]], Sequence[Any]], operands: Sequence[Any]) -> list[Any]:
        """Calls the executable on the arrays of references, which then hold its results."""
        arrays = list(operands)
        for place in self.discharged.refs:
            ref = operands[place]
            arrays[place] = ref._array
            if place in self.discharged.written and not ref._owned:
                arrays[place] = lax.copy_p.bind(ref._array)
        results = call(arrays)
        count = self.discharged.num_results
        for place, array in zip(self.discharged.written, results[count:], strict=True):
            operands[place]._replace(array)
        if checks_results():
            check_results(self.program, arrays, results)
        return list(results[:count])


def pure_program(program: TracedProgram) -> PureProgram:
    """Returns the pure form of a program with references among its inputs."""
    pure = program.executables.get(PureProgram)
    if pure is None:
        pure = program.executables[PureProgram] = PureProgram(program)
    return pure


def call_with_refs(program: TracedProgram, options: JitOptions, leaves: Sequence[Any]) -> list[Any]:
    """Runs a program that has references among its operands; they hold new arrays afterwards."""
    operands = [*program.hoisted, *leaves]
    for operand in operands:
        if isinstance(operand, Tracer):
            raise escaped_tracer_error(operand, "was used by a compiled function")
    pure = pure_program(program)

    def call(arrays: list[Any]) -> Sequence[Any]:
        return compiled_for(pure.program, options, arrays).call(arrays)

    return pure.run(call, operands)


# ---- references outside of traces ----


def _new_ref(array: Any, *, memory_space: Any, kind: Any) -> Ref:
    if isinstance(array, Tracer):
        raise escaped_tracer_error(array, "was passed to `new_ref`")
    params = {"memory_space": memory_space, "kind": kind}
    (aval,), _ = references.new_ref_p.infer((get_aval(array),), params)
    return Ref(aval, put_leaf(array))  # type: ignore[arg-type]


def _empty_ref(*, ty: Any, memory_space: Any) -> Ref:
    return Ref(AbstractRef(ty, memory_space), lax.empty(ty.shape, ty.dtype))


def _freeze(ref: Ref) -> Any:
    return ref._current()


def _free_ref(ref: Ref) -> list[Any]:
    return []


def define_eager() -> None:
    """Gives the primitives that make and free references their eager evaluation."""
    references.new_ref_p.eager = _new_ref
    references.empty_ref_p.eager = _empty_ref
    references.freeze_p.eager = _freeze
    references.free_ref_p.eager = _free_ref
