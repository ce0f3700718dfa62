# SPDX-License-Identifier: Apache-2.0
"""Linearization of programs: splits a program into a primal and a linear program.

The linearization rules of calls and control flow use these programs. The primal program computes
the results and the residuals. Residuals are the intermediate values that the linear program needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir import lax
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import (
    Atom,
    ClosedOlympuspr,
    Equation,
    Literal,
    Olympuspr,
    Var,
    joined_effects,
)
from olympus_ir.programs.staging import StagingTrace, StagingTracer
from olympus_ir.programs.tracing import Tracer, current, inside_program, set_current_trace

from ..memoization import memoized
from ..zeros import Zero, can_move, explicit_layout, scalar
from .checks import check_no_tracers, closed_over_error
from .linearize import LinearizeTrace, LinearizeTracer
from .tangent_trace import ConstantCollector, TangentTrace, lift_constants, live_equations

__all__ = ["LinearizedProgram", "join_nonzero", "linearize_olympuspr"]


class LinearizedProgram(NamedTuple):
    """A program split into its primal and its linear part.

    Attributes:
      primal: maps the inputs to the results, followed by those residuals that are neither inputs
        nor results.
      linear: maps all residuals and the nonzero tangents of inputs to the nonzero tangents of
        results.
      nonzero_out: for each result, whether it has a tangent.
      residuals: for each residual, its position in the list of the inputs of ``primal`` followed
        by the results of ``primal``.
    """

    primal: ClosedOlympuspr
    linear: ClosedOlympuspr
    nonzero_out: tuple[bool, ...]
    residuals: tuple[int, ...]

    @property
    def residual_avals(self) -> list[Any]:
        return self.linear.in_avals[: len(self.residuals)]


def linearize_olympuspr(
    closed: ClosedOlympuspr, nonzero_in: Sequence[bool], instantiate_out: Sequence[bool] = ()
) -> LinearizedProgram:
    """Splits a program into its primal and its linear part.

    Args:
      closed: the program.
      nonzero_in: for each input, whether it has a tangent.
      instantiate_out: for each result, whether to return its tangent even if it is zero.
    """
    instantiate = tuple(instantiate_out) or (False,) * len(closed.out_avals)
    return _linearize_olympuspr(closed, tuple(nonzero_in), instantiate)


def join_nonzero(first: Sequence[bool], second: Sequence[bool]) -> tuple[bool, ...]:
    """Returns the elementwise ``or`` of two lists of flags."""
    return tuple(a or b for a, b in zip(first, second, strict=True))


class _Recording(NamedTuple):
    """A program whose primal part was staged and whose linear part was recorded."""

    staged: StagingTrace
    tangent_trace: TangentTrace
    outvars: list[Atom]
    tangent_outvars: list[Atom]
    nonzero_out: tuple[bool, ...]


def record_linearization(
    closed: ClosedOlympuspr,
    nonzero_in: Sequence[bool],
    instantiate: Sequence[bool],
    run: Callable[..., list[Any]] = eval_olympuspr,
) -> _Recording:
    """Runs a program; stages its primal part, and records its linear part.

    Args:
      closed: the program.
      nonzero_in: for each input, whether it has a tangent.
      instantiate: for each result, whether to record its tangent even if it is zero.
      run: a function that runs the program, given the program, its constants and its inputs.
    """
    staged = StagingTrace(closed.debug_info, parent=current.trace)
    trace = LinearizeTrace(staged)
    tangent_trace = trace.tangent_trace
    inputs = []
    for aval, nonzero in zip(closed.in_avals, nonzero_in, strict=True):
        primal = staged.new_input(aval)
        if nonzero:
            tangent = tangent_trace.new_input(aval.to_tangent_aval())
            inputs.append(LinearizeTracer(trace, primal, tangent))
        else:
            inputs.append(primal)
    with set_current_trace(trace), inside_program():
        results = run(closed.jaxpr, closed.consts, *inputs)
    outvars, tangent_outvars, nonzero_out = [], [], []
    for result, want in zip(results, instantiate, strict=True):
        primal, tangent = trace.unpair(result)
        atom: Any = staged.atom(primal)
        outvars.append(atom)
        tangent_aval = atom.aval.to_tangent_aval()
        nonzero = tangent.__class__ is not Zero or (want and can_move(atom.aval))
        nonzero_out.append(nonzero)
        if nonzero:
            if tangent.__class__ is Zero:
                tangent = recorded_zeros(tangent_trace, tangent_aval)
            tangent_outvars.append(tangent_trace.atom(tangent))
    staged.finished = trace.finished = tangent_trace.finished = True
    return _Recording(staged, tangent_trace, outvars, tangent_outvars, tuple(nonzero_out))


def recorded_zeros(tangent_trace: TangentTrace, aval: Any) -> Any:
    """Returns a tangent of zeros, recorded as an equation of the linear program."""
    zero = scalar(0, aval.dtype)
    if not aval.shape:
        return zero
    params = {"shape": aval.shape, "broadcast_dimensions": (), "sharding": explicit_layout(aval)}
    return tangent_trace.record(lax.broadcast_in_dim_p, [zero], params)


class ResidualCollector(ConstantCollector):
    """Collector of residuals and constants of a linear program.

    Replaces residuals by inputs of the program, and other values by its constants.

    Attributes:
      staged: the trace of the primal program, which computes the residuals.
      sources: the residuals, as variables of the primal program.
      residual_vars: the corresponding inputs of the linear program.
    """

    def __init__(self, staged: StagingTrace) -> None:
        super().__init__()
        self.staged = staged
        self.sources: list[Var] = []
        self.residual_vars: list[Var] = []
        self._inputs: dict[Var, Var] = {}

    def lift(self, literal: Literal) -> Atom:
        value = literal.val
        if isinstance(value, StagingTracer) and value._trace is self.staged:
            atom: Any = value.atom
            if atom.__class__ is Literal:
                return atom
            return self.residual(atom)
        if isinstance(value, Tracer):
            raise closed_over_error(value)
        return super().lift(literal)

    def residual(self, source: Var) -> Var:
        """Returns the input of the linear program that stands for a residual."""
        var = self._inputs.get(source)
        if var is None:
            var = self._inputs[source] = Var(source.aval)
            self.sources.append(source)
            self.residual_vars.append(var)
        return var


@memoized
def _linearize_olympuspr(
    closed: ClosedOlympuspr, nonzero_in: tuple[bool, ...], instantiate: tuple[bool, ...]
) -> LinearizedProgram:
    recording = record_linearization(closed, nonzero_in, instantiate)
    staged, tangent_trace = recording.staged, recording.tangent_trace
    collector = ResidualCollector(staged)
    equations, tangent_outvars = lift_constants(
        live_equations(tangent_trace.equations, recording.tangent_outvars),
        recording.tangent_outvars,
        collector.lift,
    )
    linear = ClosedOlympuspr(
        Olympuspr(
            collector.constvars,
            [*collector.residual_vars, *tangent_trace.invars],
            tangent_outvars,
            equations,
            joined_effects(equations),
            closed.debug_info,
        ),
        collector.values,
    )
    primal, positions = program_with_residuals(staged, recording.outvars, collector.sources)
    check_no_tracers(primal.consts)
    return LinearizedProgram(primal, linear, recording.nonzero_out, positions)


def program_with_residuals(
    staged: StagingTrace, outvars: Sequence[Atom], residuals: Sequence[Var]
) -> tuple[ClosedOlympuspr, tuple[int, ...]]:
    """Returns the staged program with residuals as added results, and each residual's position.

    Positions count the program's inputs, then its results. A residual that is already an input or a
    result is not added.
    """
    outvars = list(outvars)
    places: dict[Any, int] = {var: index for index, var in enumerate(staged.invars)}
    count = len(staged.invars)
    for index, atom in enumerate(outvars):
        if atom.__class__ is not Literal:
            places.setdefault(atom, count + index)
    positions = []
    for var in residuals:
        if var not in places:
            places[var] = count + len(outvars)
            outvars.append(var)
        positions.append(places[var])
    equations = live_equations(staged.equations, outvars)
    return close_over_used(staged, outvars, equations), tuple(positions)


def close_over_used(
    staged: StagingTrace, outvars: Sequence[Atom], equations: Sequence[Equation]
) -> ClosedOlympuspr:
    """Returns some equations of a trace as a closed program, with the constants that they use."""
    used = {atom for equation in equations for atom in equation.invars if atom.__class__ is Var}
    used.update(atom for atom in outvars if atom.__class__ is Var)
    constants = [
        (var, value)
        for var, value in zip(staged.constvars, staged.constant_values, strict=True)
        if var in used
    ]
    return ClosedOlympuspr(
        Olympuspr(
            [var for var, _ in constants],
            staged.invars,
            outvars,
            equations,
            joined_effects(equations),
            staged.debug_info,
        ),
        [value for _, value in constants],
    )
