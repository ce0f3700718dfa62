# SPDX-License-Identifier: Apache-2.0
"""Trace that records the linear part of a computation while its primal part is evaluated.

A derivative rule runs under a `TangentTrace`. A primitive with a tangent among its operands is
recorded. The parent trace applies other primitives immediately, and their results become
coefficients of the linear program. Primal and linear part therefore need no separation afterwards.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from olympus_ir.diagnostics.debug_info import unknown_debug_info
from olympus_ir.diagnostics.source_info import unknown_source
from olympus_ir.loading import deferred
from olympus_ir.programs.dead_code import dead_code_rules
from olympus_ir.programs.olympuspr import Atom, Equation, Literal, Olympuspr, Var, no_context
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import StagingTrace, StagingTracer
from olympus_ir.programs.tracing import Trace, evaluation_trace, set_current_trace
from olympus_ir.programs.wide_constants import numpy_classes, wide_constant_aval

from ..tables import concerns_refs
from ..zeros import aval_of

if TYPE_CHECKING:
    from . import held_references
else:
    held_references = deferred(".held_references", milliseconds=20)

__all__ = ["ConstantCollector", "TangentTrace", "lift_constants", "live_equations"]


class TangentTrace(StagingTrace):
    """Trace that records operations on tangents; applies other operations in the parent trace.

    In the recorded equations an operand that is not a tangent is a `Literal` that holds its value,
    which may be an array or a tracer of an outer trace. `lift_constants` turns such equations into
    those of an ordinary program.
    """

    __slots__ = ("keeps_sources",)

    parent: Trace  # pyright: ignore[reportIncompatibleVariableOverride] - never None here

    def __init__(self, parent: Trace, debug_info: Any = unknown_debug_info) -> None:
        super().__init__(debug_info, parent)
        # An eager backward pass runs immediately, so the sources of its equations are not needed.
        self.keeps_sources = parent is not evaluation_trace

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        if primitive.takes_refs and concerns_refs(primitive, args):
            result = held_references.apply_to_refs(self, primitive, args, params)
            if result is not NotImplemented:
                return result
        for arg in args:
            if arg.__class__ is StagingTracer and arg._trace is self:
                if primitive.multiple_results and primitive in dead_code_rules:
                    return self._record_part(primitive, args, params)
                return self.record(primitive, args, params)
        return primitive.bind_with_trace(self.parent, args, params)

    def _record_part(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> list[Any]:
        """Records the linear part of a call or loop, and applies its other operations.

        A user's derivative rule may compute primal results and tangents in one loop.
        """
        avals = tuple([aval_of(arg) for arg in args])
        out_avals, effects = primitive.infer(avals, params)
        equation = Equation(
            [Var(aval) for aval in avals],
            [Var(aval) for aval in out_avals],
            primitive,
            params,
            effects,
            unknown_source,
            no_context,
        )
        values = dict(zip(equation.invars, args, strict=True))
        reduce = dead_code_rules[primitive]
        count = len(out_avals)

        def is_known(position: int) -> bool:
            alone, _ = reduce(equation, [other == position for other in range(count)])
            return not any(self.holds(values[var]) for var in alone.invars)

        known = [is_known(position) for position in range(count)]
        results: dict[Any, Any] = {}
        for flags, apply in (
            (known, functools.partial(primitive.bind_with_trace, self.parent)),
            ([not flag for flag in known], functools.partial(self.record, primitive)),
        ):
            if any(flags):
                part, _ = reduce(equation, flags)
                outs = apply([values[var] for var in part.invars], part.params)
                results.update(
                    (var, out)
                    for var, out in zip(part.outvars, outs, strict=True)
                    if flags[equation.outvars.index(var)]
                )
        return [results[var] for var in equation.outvars]

    def operand(
        self,
        primitive: Primitive,
        position: int,
        operands: Sequence[Any],
        params: dict[str, Any],
    ) -> Atom:
        value = operands[position]
        if value.__class__ in numpy_classes:
            wide = wide_constant_aval(position, operands, params)
            if wide is not None:
                return Literal(value, wide)
        return Literal(value, aval_of(value))

    def atom(self, value: Any) -> Any:
        if value.__class__ is StagingTracer and value._trace is self:
            return value.atom
        return Literal(value, aval_of(value))

    def holds(self, value: Any) -> bool:
        """Returns whether a value is a tangent of this trace."""
        return value.__class__ is StagingTracer and value._trace is self

    # A derivative rule may call functions with custom rules. A function that is applied to tangents
    # must be linear. Its derivative is then the function itself, so its custom rule is not used.

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        if any(map(self.holds, args)):
            return fun(*args)
        with set_current_trace(self.parent) as parent:
            return parent.process_custom_jvp_call(primitive, fun, jvp, args, **options)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        if any(map(self.holds, args)):
            return fun(*args)
        with set_current_trace(self.parent) as parent:
            return parent.process_custom_vjp_call(primitive, fun, fwd, bwd, args, **options)

    # ---- the result ----

    def to_olympuspr(
        self, outputs: Sequence[Any], out_tree: Any = None
    ) -> tuple[Olympuspr, list[Any]]:
        """Returns the recorded program of the given outputs, and the values of its constants."""
        outvars = [self.atom(output) for output in outputs]
        equations = live_equations(self.equations, outvars)
        collector = ConstantCollector()
        equations, outvars = lift_constants(equations, outvars, collector.lift)
        olympuspr = Olympuspr(
            collector.constvars, self.invars, outvars, equations, debug_info=self.debug_info
        )
        return olympuspr, collector.values


class ConstantCollector:
    """Collector of the values in literals, which replaces them by constants of a program.

    Attributes:
      constvars: the variables of the constants.
      values: the values of the constants.
    """

    def __init__(self) -> None:
        self.constvars: list[Var] = []
        self.values: list[Any] = []
        # The variables of constants, by the ids of the values in `values`.
        self._variables: dict[int, Var] = {}

    def lift(self, literal: Literal) -> Atom:
        """Returns the variable of a literal's value; a scalar constant stays a literal."""
        value = literal.val
        if is_scalar_constant(value):
            return literal
        var = self._variables.get(id(value))
        if var is None:
            var = self._variables[id(value)] = Var(literal.aval)
            self.constvars.append(var)
            self.values.append(value)
        return var


_PYTHON_SCALARS = frozenset({bool, int, float, complex})


def is_scalar_constant(value: Any) -> bool:
    """Returns whether a coefficient is a scalar constant, which programs show as a literal."""
    kind = value.__class__
    return kind in _PYTHON_SCALARS or (kind is np.ndarray and not value.shape)


def live_equations(
    equations: Sequence[Equation], outvars: Iterable[Atom], *, keep_effects: bool = True
) -> list[Equation]:
    """Returns, in order, the equations on which results depend.

    With ``keep_effects``, also returns the equations that have effects.
    """
    needed = {atom for atom in outvars if atom.__class__ is not Literal}
    live = []
    for equation in reversed(equations):
        if (equation.effects and keep_effects) or not needed.isdisjoint(equation.outvars):
            live.append(equation)
            needed.update([atom for atom in equation.invars if atom.__class__ is not Literal])
    live.reverse()
    return live


def lift_constants(
    equations: Sequence[Equation], outvars: Sequence[Atom], lift: Callable[[Literal], Atom]
) -> tuple[list[Equation], list[Atom]]:
    """Returns equations and results with each literal replaced by ``lift(literal)``."""

    def lifted(atom: Any) -> Atom:
        return lift(atom) if atom.__class__ is Literal else atom

    return (
        [equation.map_operands(lifted) for equation in equations],
        [lifted(atom) for atom in outvars],
    )
