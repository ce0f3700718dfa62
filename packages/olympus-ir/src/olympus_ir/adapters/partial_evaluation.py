# SPDX-License-Identifier: Apache-2.0
"""Partial evaluation: evaluates a function on its known operands and records the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics.debug_info import DebugInfo, unknown_debug_info
from ..diagnostics.source_info import SourceInfo
from ..lax.calls.primitives import closed_call_p, jit_p
from ..programs.dead_code import dce_olympuspr
from ..programs.evaluation import eval_olympuspr
from ..programs.olympuspr import Atom, Equation, EquationContext, Olympuspr, Var, no_context
from ..programs.primitives import Primitive
from ..programs.staging import StagingTrace, StagingTracer, trace_to_olympuspr, tracer_types
from ..programs.tracing import Trace, current, register_tracer_type, set_current_trace
from ..types.avals import AbstractValue, get_aval
from .wrapped_functions import WrappedFun

__all__ = [
    "OlympusprTracer",
    "PartialVal",
    "custom_partial_eval_rules",
    "new_eqn_recipe",
    "partial_eval_olympuspr_custom_rules",
    "partially_evaluate",
    "trace_to_olympuspr_dynamic",
    "trace_to_olympuspr_nounits",
]


class PartialVal(tuple):
    """Known value, or the type of an unknown value.

    Args:
      xs: the pair of type and value, one of which is None.

    Example:
      >>> PartialVal.known(2.0).is_known()
      True
    """

    def __new__(cls, xs: tuple[AbstractValue | None, Any]) -> PartialVal:
        aval, const = xs
        if aval is not None and const is not None:
            raise ValueError(f"a PartialVal has a type or a value, not both: {aval}, {const}")
        return tuple.__new__(cls, xs)

    @classmethod
    def known(cls, const: Any) -> PartialVal:
        """Makes a known value."""
        return cls((None, const))

    @classmethod
    def unknown(cls, aval: AbstractValue) -> PartialVal:
        """Makes an unknown value of a type."""
        return cls((aval, None))

    def is_known(self) -> bool:
        return self[0] is None

    def get_known(self) -> Any:
        """Returns the value, or None if it is unknown."""
        return self[1] if self.is_known() else None

    def get_aval(self) -> Any:
        """Returns the type of the value."""
        return get_aval(self[1]) if self.is_known() else self[0]


# Both tables are plain dictionaries, as in JAX. Only other libraries define rules, so no rules need
# loading, and a primitive without a rule is not an error.

# Partial-evaluation rules for primitives of libraries: `rule(trace, *tracers, **params)`. A rule
# returns tracers; known operands are tracers, too.
custom_partial_eval_rules: dict[Primitive, Callable[..., Any]] = {}

# Rules that split an equation of a program into a known and an unknown part,
# `rule(saveable, unknown_inputs, instantiated_inputs, equation)`. A rule returns the known
# equation, the unknown equation, flags of the unknown results, flags of the instantiated results,
# and the residuals. If the operands are known, the unknown equation tells `checkpoint` to recompute
# the results of the equation. If the rule returns None as the unknown equation, `checkpoint` saves
# the results.
partial_eval_olympuspr_custom_rules: dict[Primitive, Callable[..., Any]] = {}


@register_tracer_type
class OlympusprTracer(StagingTracer):
    """Tracer of a known or unknown value in partial evaluation.

    Args:
      trace: the trace.
      pval: the value if it is known, else its type.
      recipe: the equation that computes an unknown value, or None. `new_eqn_recipe` makes it.
    """

    __slots__ = ("_known", "_recipe")

    def __init__(self, trace: PartialTrace, pval: PartialVal, recipe: Equation | None) -> None:
        self._trace = trace
        self._recipe = recipe
        if pval.is_known():
            # The atom exists only for programs in which the value becomes a constant.
            self._known = pval
        else:
            self._known = None
            self.atom = Var(pval.get_aval())

    @property
    def pval(self) -> PartialVal:
        """The value if it is known, else its type."""
        return PartialVal.unknown(self.atom.aval) if self._known is None else self._known

    @property
    def aval(self) -> Any:
        return self.pval.get_aval()

    @property
    def recipe(self) -> Equation | None:
        """The equation that computes the value; None for known values and for inputs."""
        return self._recipe

    @recipe.setter
    def recipe(self, equation: Equation | None) -> None:
        self._recipe = equation

    @property
    def parents(self) -> list[StagingTracer]:
        """The tracers of the operands of the equation that computes the value."""
        trace: Any = self._trace
        operands = [] if self._recipe is None else self._recipe.invars
        return [trace.tracer_of(atom) for atom in operands if isinstance(atom, Var)]

    def is_known(self) -> bool:
        """Returns whether the value is known."""
        return self._known is not None

    def concrete_or_none(self) -> Any:
        return None if self._known is None else self._known.get_known()


def new_eqn_recipe(
    trace: PartialTrace,
    in_tracers: Sequence[OlympusprTracer],
    out_tracers: Sequence[OlympusprTracer],
    primitive: Primitive,
    params: dict[str, Any],
    effects: frozenset,
    source_info: SourceInfo,
    ctx: EquationContext | None = None,
) -> Equation:
    """Records an equation in partial evaluation, for rules in `custom_partial_eval_rules`.

    Args:
      trace: the trace.
      in_tracers: the operands. Known operands become constants of the program.
      out_tracers: the tracers of the results, which are unknown.
      primitive: the primitive.
      params: the parameters.
      effects: the effects.
      source_info: the source of the equation.
      ctx: the context of the equation; None for the empty one.

    Returns:
      The equation, for the attribute `recipe` of the results.
    """
    equation = Equation(
        [trace.atom(_value_of(tracer)) for tracer in in_tracers],
        [_variable_of(tracer) for tracer in out_tracers],
        primitive,
        params,
        effects,
        source_info,
        no_context if ctx is None else ctx,
    )
    trace.equations.append(equation)
    return equation


def _variable_of(tracer: OlympusprTracer) -> Var:
    if tracer.is_known():
        raise ValueError(f"the result of an equation is unknown, got a tracer of {tracer.pval}")
    variable = tracer.atom
    assert isinstance(variable, Var)
    return variable


class PartialTrace(StagingTrace):
    """Trace that records operations on unknown values.

    Operations on known values alone are applied in the parent trace.
    """

    __slots__ = ()

    parent: Trace  # pyright: ignore[reportIncompatibleVariableOverride] - never None here

    def is_unknown(self, value: Any) -> bool:
        """Returns whether a value is a tracer of this trace that stands for an unknown value."""
        return (
            isinstance(value, StagingTracer)
            and value._trace is self
            and not (isinstance(value, OlympusprTracer) and value.is_known())
        )

    def known(self, value: Any) -> OlympusprTracer:
        """Returns the tracer of a known value, for rules of libraries."""
        return OlympusprTracer(self, PartialVal.known(value), None)

    def tracer_of(self, atom: Atom) -> StagingTracer:
        if isinstance(atom, Var) and atom.aval.__class__ not in tracer_types:
            tracer = object.__new__(OlympusprTracer)
            tracer._trace, tracer.atom, tracer._known, tracer._recipe = self, atom, None, None
            return tracer
        return super().tracer_of(atom)

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        args = [*map(_value_of, args)]
        unknown = [self.is_unknown(arg) for arg in args]
        if not any(unknown):
            return primitive.bind_with_trace(self.parent, args, params)
        if primitive in (jit_p, closed_call_p) and not all(unknown):
            # Results are known if they are computed only from known operands.
            closed = params["jaxpr" if primitive is jit_p else "call_jaxpr"]
            return eval_olympuspr(closed.jaxpr, closed.consts, *args)
        rule = custom_partial_eval_rules.get(primitive)
        if rule is None:
            return super().process_primitive(primitive, args, params)
        tracers = [
            arg if is_unknown else self.known(arg)
            for arg, is_unknown in zip(args, unknown, strict=True)
        ]
        results = rule(self, *tracers, **params)
        return [*map(_value_of, results)] if primitive.multiple_results else _value_of(results)

    def record(self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
        results = super().record(primitive, args, params)
        if primitive.multiple_results:
            return [self.tracer_of(result.atom) for result in results]
        return self.tracer_of(results.atom)

    def atom(self, value: Any) -> Atom:
        return super().atom(_value_of(value))

    # ---- interface for rules of libraries ----

    def default_process_primitive(
        self, primitive: Primitive, tracers: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Records a primitive, or evaluates it if all of its operands are known."""
        values = [*map(_value_of, tracers)]
        if any(map(self.is_unknown, values)):
            return self.record(primitive, values, params)
        results = primitive.bind_with_trace(self.parent, values, params)
        return [*map(self.known, results)] if primitive.multiple_results else self.known(results)

    def new_const(self, value: Any) -> OlympusprTracer:
        """Returns the tracer of a known value."""
        return self.known(value)

    def instantiate_const(self, tracer: Any) -> StagingTracer:
        """Returns the tracer that stands for a value in the recorded program.

        A known value becomes a constant of the program.
        """
        return self.tracer(_value_of(tracer))

    def new_instantiated_const(self, value: Any) -> StagingTracer:
        """Returns the tracer of a known value as a constant of the program."""
        return self.tracer(value)

    def process_custom_jvp_call(
        self, primitive: Any, fun: Any, jvp: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        if any(map(self.is_unknown, args)):
            return super().process_custom_jvp_call(primitive, fun, jvp, args, **options)
        with set_current_trace(self.parent):
            return self.parent.process_custom_jvp_call(primitive, fun, jvp, args, **options)

    def process_custom_vjp_call(
        self, primitive: Any, fun: Any, fwd: Any, bwd: Any, args: Any, **options: Any
    ) -> Sequence[Any]:
        if any(map(self.is_unknown, args)):
            return super().process_custom_vjp_call(primitive, fun, fwd, bwd, args, **options)
        with set_current_trace(self.parent):
            return self.parent.process_custom_vjp_call(primitive, fun, fwd, bwd, args, **options)


def _value_of(tracer: Any) -> Any:
    is_known = isinstance(tracer, OlympusprTracer) and tracer.is_known()
    return tracer.pval.get_known() if is_known else tracer


def partially_evaluate(
    fun: Any,
    operands: Sequence[PartialVal],
    instantiate: bool | Sequence[bool] = False,
    debug_info: DebugInfo = unknown_debug_info,
) -> tuple[Olympuspr, list[PartialVal], list[Any]]:
    """Partially evaluates a function of flat operands, some of which are unknown.

    Args:
      fun: the function.
      operands: the value or the type of each operand.
      instantiate: whether known results are also results of the program.
      debug_info: the names of the function and its arguments, for error messages.

    Returns:
      The program that maps unknown operands to unknown results, the value or the type of each
      result, and the values of the program's constants.
    """
    trace = PartialTrace(debug_info, parent=current.trace)
    values = [
        operand.get_known() if operand.is_known() else trace.new_input(operand.get_aval())
        for operand in operands
    ]
    try:
        with set_current_trace(trace):
            outputs = [*map(_value_of, fun(*values))]
        if isinstance(instantiate, bool):
            instantiate = [instantiate] * len(outputs)
        outputs = [
            trace.tracer(output) if is_instantiated else output
            for output, is_instantiated in zip(outputs, instantiate, strict=True)
        ]
        unknown = [output for output in outputs if trace.is_unknown(output)]
        olympuspr, constants = trace.to_olympuspr(unknown)
    finally:
        trace.finish()
    results = [
        PartialVal.unknown(output.aval) if trace.is_unknown(output) else PartialVal.known(output)
        for output in outputs
    ]
    return olympuspr, results, constants


def trace_to_olympuspr_nounits(
    fun: WrappedFun, pvals: Sequence[PartialVal], instantiate: bool | Sequence[bool] = False
) -> tuple[Olympuspr, list[PartialVal], tuple[Any, ...]]:
    """Evaluates the known part of a wrapped function, and records the unknown part.

    Args:
      fun: the function of flat operands.
      pvals: the value or the type of each operand.
      instantiate: whether known results are also results of the program.

    Returns:
      The program of the unknown part, the value or the type of each result, and the values of the
      program's constants.
    """
    olympuspr, results, constants = partially_evaluate(
        fun.call_wrapped, pvals, instantiate, fun.debug_info
    )
    return olympuspr, results, tuple(constants)


def trace_to_olympuspr_dynamic(
    fun: WrappedFun,
    in_avals: Sequence[AbstractValue],
    *,
    keep_inputs: Sequence[bool] | None = None,
    lower: bool = False,
    auto_dce: bool = False,
) -> tuple[Olympuspr, list[AbstractValue], list[Any]]:
    """Traces a wrapped function.

    Args:
      fun: the function of flat operands.
      in_avals: the operands' types.
      keep_inputs: for each operand, whether to pass it to the function; by default all are passed.
        The program takes all operands in any case.
      lower: has no effect; JAX uses it for values of high types.
      auto_dce: whether to eliminate dead code.

    Returns:
      The program, the types of its results, and the values of its constants.
    """

    def of_kept(*operands: Any) -> Any:
        kept = [True] * len(operands) if keep_inputs is None else keep_inputs
        chosen = [operand for operand, keep in zip(operands, kept, strict=True) if keep]
        return fun.call_wrapped(*chosen)

    olympuspr, constants = trace_to_olympuspr(of_kept, in_avals, fun.debug_info)
    if auto_dce:
        values = dict(zip(olympuspr.constvars, constants, strict=True))
        olympuspr, _ = dce_olympuspr(olympuspr, [True] * len(olympuspr.outvars), instantiate=True)
        constants = [values[var] for var in olympuspr.constvars]
    return olympuspr, olympuspr.out_avals, constants
