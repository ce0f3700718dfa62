# SPDX-License-Identifier: Apache-2.0
"""Partial evaluation: evaluates a function on its known operands and records the rest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics.debug_info import DebugInfo, unknown_debug_info
from ..lax.calls import closed_call_p, jit_p
from ..programs.dead_code import dce_olympuspr
from ..programs.evaluation import eval_olympuspr
from ..programs.olympuspr import Olympuspr
from ..programs.primitives import Primitive
from ..programs.staging import StagingTrace, StagingTracer, trace_to_olympuspr
from ..programs.tracing import Trace, current, set_current_trace
from ..types.avals import AbstractValue, get_aval
from .wrapped_functions import WrappedFun

__all__ = [
    "KnownTracer",
    "PartialVal",
    "custom_partial_eval_rules",
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
# returns tracers. Known operands are `KnownTracer`s.
custom_partial_eval_rules: dict[Primitive, Callable[..., Any]] = {}

# Rules that split an equation of a program into a known and an unknown part,
# `rule(saveable, unknown_inputs, instantiated_inputs, equation)`. A rule returns the known
# equation, the unknown equation, flags of the unknown results, flags of the instantiated results,
# and the residuals. If the operands are known, the unknown equation tells `checkpoint` to recompute
# the results of the equation. If the rule returns None as the unknown equation, `checkpoint` saves
# the results.
partial_eval_olympuspr_custom_rules: dict[Primitive, Callable[..., Any]] = {}


class KnownTracer:
    """A known operand, as passed to rules in `custom_partial_eval_rules`.

    Attributes:
      pval: the value, as a `PartialVal`.
      aval: the type of the value.
    """

    __slots__ = ("aval", "pval")

    def __init__(self, value: Any) -> None:
        self.pval = PartialVal.known(value)
        self.aval = get_aval(value)

    def is_known(self) -> bool:
        return True


class PartialTrace(StagingTrace):
    """Trace that records operations on unknown values.

    Operations on known values alone are applied in the parent trace.
    """

    __slots__ = ()

    parent: Trace  # pyright: ignore[reportIncompatibleVariableOverride] - never None here

    def is_unknown(self, value: Any) -> bool:
        return value.__class__ is StagingTracer and value._trace is self

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
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
            arg if is_unknown else KnownTracer(arg)
            for arg, is_unknown in zip(args, unknown, strict=True)
        ]
        results = rule(self, *tracers, **params)
        return [*map(_value_of, results)] if primitive.multiple_results else _value_of(results)

    # ---- interface for rules of libraries ----

    def default_process_primitive(
        self, primitive: Primitive, tracers: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Records a primitive, or evaluates it if all of its operands are known."""
        values = [*map(_value_of, tracers)]
        if any(map(self.is_unknown, values)):
            return self.record(primitive, values, params)
        results = primitive.bind_with_trace(self.parent, values, params)
        if primitive.multiple_results:
            return [*map(KnownTracer, results)]
        return KnownTracer(results)

    def new_const(self, value: Any) -> KnownTracer:
        """Returns the tracer of a known value."""
        return KnownTracer(value)

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
    return tracer.pval.get_known() if isinstance(tracer, KnownTracer) else tracer


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
            outputs = list(fun(*values))
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
        PartialVal.unknown(output.aval)
        if output.__class__ is StagingTracer and output._trace is trace
        else PartialVal.known(output)
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
