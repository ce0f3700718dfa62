# SPDX-License-Identifier: Apache-2.0
"""Discharge: conversion of programs with references to pure programs.

Each reference is replaced by the array that it currently holds. A reference among the inputs
becomes an array among the inputs, and its final value becomes an additional result. Programs with
references are compiled and interpreted in this form.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics.source_info import unknown_source
from ..programs.olympuspr import (
    Atom,
    ClosedOlympuspr,
    Equation,
    Literal,
    Olympuspr,
    Var,
    close_olympuspr,
    no_context,
    olympusprs_in_params,
)
from ..programs.primitives import Primitive
from ..programs.rules import RuleTable
from ..programs.staging import StagingTrace
from ..programs.tracing import current, set_current_trace
from ..types.avals import get_aval
from ..types.effects import reference_effects
from ..types.references import inner_aval, referent

__all__ = [
    "Discharged",
    "apply_discharged",
    "discharge",
    "discharge_closed",
    "discharge_rules",
    "uses_refs",
]

# Discharge rules: `rule(equation, operands) -> (new_values, results)`. Discharged references are
# passed as the arrays that they hold. ``new_values`` has one entry for each operand: the new array
# of a reference, or None if the operand is not a reference or is unchanged. Rules run while the new
# program is recorded, so they call functions of `lax`. A primitive without a rule is copied, which
# is correct if neither its operands nor the programs in its parameters have references.
discharge_rules: RuleTable[
    Callable[[Equation, Sequence[Any]], tuple[Sequence[Any], Sequence[Any]]]
] = RuleTable("discharge", package="olympus_ir", folder="references.rules")


class Discharged:
    """Pure program that is equivalent to a program with references.

    Attributes:
      closed: the pure program, which returns the results and then the final values of ``refs``.
      refs: the positions of the inputs that are discharged references.
      written: the positions of the discharged references that the program writes.
    """

    __slots__ = ("closed", "refs", "written")

    def __init__(self, closed: ClosedOlympuspr, refs: tuple[int, ...]) -> None:
        self.closed = closed
        self.refs = refs
        olympuspr = closed.jaxpr
        last = olympuspr.outvars[len(olympuspr.outvars) - len(refs) :]
        self.written = tuple(
            [
                position
                for position, atom in zip(refs, last, strict=True)
                if atom is not _input(self, position)
            ]
        )

    @property
    def num_results(self) -> int:
        """Returns the number of results, without the final values of references."""
        return len(self.closed.jaxpr.outvars) - len(self.refs)

    def last_value(self, position: int) -> Atom:
        """Returns the final value of the reference that is the input at ``position``."""
        return self.closed.jaxpr.outvars[self.num_results + self.refs.index(position)]


def _input(discharged: Discharged, position: int) -> Var:
    return discharged.closed.jaxpr.invars[position]


def uses_refs(olympuspr: Olympuspr | ClosedOlympuspr) -> bool:
    """Returns whether a program takes references or uses references internally."""
    effects = olympuspr.effects
    return (bool(effects) and bool(reference_effects.filter_in(effects))) or _has_ref_inputs(
        olympuspr
    )


def _has_ref_inputs(olympuspr: Olympuspr | ClosedOlympuspr) -> bool:
    if isinstance(olympuspr, ClosedOlympuspr):
        olympuspr = olympuspr.jaxpr
    return any(var.aval.is_ref for var in (*olympuspr.constvars, *olympuspr.invars))


def discharge_closed(
    closed: ClosedOlympuspr, should_discharge: bool | Sequence[bool] = True
) -> Discharged:
    """Applies `discharge` to a closed program; the result is memoized."""
    if not isinstance(should_discharge, bool):
        should_discharge = tuple(map(bool, should_discharge))
    key = ("discharge", should_discharge)
    known = closed.memo.get(key)
    if known is None:
        olympuspr, consts = discharge(closed.jaxpr, closed.consts, should_discharge)
        pure = ClosedOlympuspr(olympuspr, consts) if consts else close_olympuspr(olympuspr)
        flags = _flags(closed.jaxpr, should_discharge)
        refs = tuple([position for position, flag in enumerate(flags) if flag])
        known = closed.memo[key] = Discharged(pure, refs)
    return known


def _flags(olympuspr: Olympuspr, should_discharge: bool | Sequence[bool]) -> list[bool]:
    if isinstance(should_discharge, bool):
        should_discharge = [should_discharge] * len(olympuspr.invars)
    return [
        bool(flag) and var.aval.is_ref
        for var, flag in zip(olympuspr.invars, should_discharge, strict=True)
    ]


def discharge(
    olympuspr: Olympuspr,
    consts: Sequence[Any] = (),
    should_discharge: bool | Sequence[bool] = True,
) -> tuple[Olympuspr, list[Any]]:
    """Converts a program with references to a pure program of arrays.

    References that are made within the program are always discharged.

    Args:
      olympuspr: the program.
      consts: the values of the program's constants.
      should_discharge: one flag, or a flag for each input, which says whether to discharge the
        input if it is a reference.

    Returns:
      The program and the values of its constants. The program takes arrays instead of the
      discharged references, and returns their final values after its results.

    Raises:
      ValueError: a constant is a reference. Make it an input instead.

    Example:
      >>> from olympus_ir import ShapedArray, trace_to_olympuspr
      >>> from olympus_ir.references import primitives as references
      >>> from olympus_ir.types.references import AbstractRef
      >>> ref = AbstractRef(ShapedArray((), "float32"))
      >>> olympuspr, _ = trace_to_olympuspr(lambda r: [references.swap(r, (), 2.0)], [ref])
      >>> olympuspr
      { lambda ; a:Ref{f32[]}. let b:f32[], a[...] <- a[...], 2.0:f32[] in (b,) }
      >>> discharge(olympuspr)[0]
      { lambda ; a:f32[]. let  in (a, 2.0:f32[]) }
    """
    for var in olympuspr.constvars:
        if var.aval.is_ref:
            raise ValueError(
                f"a constant of the program is a reference, of type {var.aval}: make it an input"
            )
    flags = _flags(olympuspr, should_discharge)
    recorder = _Discharge(olympuspr, consts, flags)
    saved = current.source, current.name_stack
    try:
        for equation in olympuspr.eqns:
            recorder.add(equation)
    finally:
        current.source, current.name_stack = saved
        recorder.trace.finish()
    return recorder.program(olympuspr, flags)


class _Discharge:
    """The state of rewriting one program.

    Attributes:
      trace: records the new program.
      atoms: a mapping from a variable of the old program to its replacement in the new program. The
        replacement of a reference is the array that it currently holds.
      discharged: the variables that are references and have become arrays.
    """

    def __init__(self, olympuspr: Olympuspr, consts: Sequence[Any], flags: Sequence[bool]) -> None:
        self.trace = StagingTrace(olympuspr.debug_info, parent=current.trace)
        self.atoms: dict[Var, Atom] = {}
        self.discharged: set[Var] = set()
        trace = self.trace
        for var, value in zip(olympuspr.constvars, consts, strict=True):
            self.atoms[var] = var
            trace.constvars.append(var)
            trace.constant_values.append(value)
        for var, flag in zip(olympuspr.invars, flags, strict=True):
            new = Var(inner_aval(var.aval)) if flag else var
            trace.invars.append(new)
            self.atoms[var] = new
            if flag:
                self.discharged.add(var)

    def atom(self, atom: Atom) -> Atom:
        return atom if isinstance(atom, Literal) else self.atoms[atom]

    def add(self, equation: Equation) -> None:
        concerns_refs = self._concerns_refs(equation)
        rule = discharge_rules.find(equation.primitive) if concerns_refs else None
        if rule is None:
            self.trace.equations.append(equation.map_operands(self.atom))
            for var in equation.outvars:
                self.atoms[var] = var
            return
        operands = [self._value(self.atom(atom)) for atom in equation.invars]
        source = equation.source_info
        current.source, current.name_stack = source, source.name_stack
        with set_current_trace(self.trace):
            new_values, results = rule(equation, operands)
        for atom, value in zip(equation.invars, new_values, strict=True):
            if value is not None:
                assert isinstance(atom, Var)
                self.atoms[atom] = self.trace.atom(value)
        for var, result in zip(equation.outvars, results, strict=True):
            self.atoms[var] = self.trace.atom(result)
            if var.aval.is_ref:
                self.discharged.add(var)

    def _concerns_refs(self, equation: Equation) -> bool:
        return (
            any(atom in self.discharged for atom in equation.invars if isinstance(atom, Var))
            or any(var.aval.is_ref for var in equation.outvars)
            or any(
                reference_effects.filter_in(program.effects)
                for program in olympusprs_in_params(equation.params)
            )
        )

    def _value(self, atom: Atom) -> Any:
        """Returns an operand as a rule takes it: literals become values."""
        if isinstance(atom, Literal):
            return atom.val
        return self.trace.tracer_of(atom)

    def program(self, olympuspr: Olympuspr, flags: Sequence[bool]) -> tuple[Olympuspr, list[Any]]:
        results = [self.atom(atom) for atom in olympuspr.outvars]
        results += [
            self.atoms[var] for var, flag in zip(olympuspr.invars, flags, strict=True) if flag
        ]
        return self.trace.to_olympuspr([self.trace.tracer_of(atom) for atom in results])


def apply_discharged(
    primitive: Primitive,
    args: Sequence[Any],
    params: dict[str, Any],
    *,
    is_discharged: Callable[[Any], bool],
    read: Callable[[Any], Any],
    write: Callable[[Any, Any], None],
) -> list[Any]:
    """Applies the pure form of a call or loop to the arrays that references hold.

    Args:
      primitive: the primitive.
      args: the operands.
      params: the parameters.
      is_discharged: returns whether an operand is a reference, to be read before the call and
          written after it.
      read: returns the array that a reference holds.
      write: replaces the array that a reference holds.
    """
    variables: dict[int, Var] = {}
    invars = []
    for position, arg in enumerate(args):
        # A repeated reference has a single variable, so the rule detects the repetition.
        key = id(referent(arg)) if is_discharged(arg) else -1 - position
        invars.append(variables.setdefault(key, Var(get_aval(arg))))
    out_avals, effects = primitive.infer(tuple([var.aval for var in invars]), params)
    outvars = [Var(aval) for aval in out_avals]
    equation = Equation(
        list(invars), outvars, primitive, params, effects, unknown_source, no_context
    )
    operands = [read(arg) if is_discharged(arg) else arg for arg in args]
    new_values, results = discharge_rules[primitive](equation, operands)
    for arg, value in zip(args, new_values, strict=True):
        if value is not None:
            write(arg, value)
    return list(results)
