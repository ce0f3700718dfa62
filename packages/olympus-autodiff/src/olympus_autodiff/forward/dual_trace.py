# SPDX-License-Identifier: Apache-2.0
"""Traces of derivatives, whose tracers pair a primal value with its derivative.

`DerivativeTrace` is the base of all of them, Taylor mode included. `DualTrace` is the base of `jvp`
and `linearize`, whose derivatives are tangents computed by `jvp_rules`. The two subclasses of
`DualTrace` differ in the trace that receives operations on tangents. `jvp` sends these operations
to the parent trace, which applies them. `linearize` sends these operations to a `TangentTrace`,
which records them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

from olympus_ir.diagnostics.name_stacks import TransformationName
from olympus_ir.loading import deferred
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import varying_alike
from olympus_ir.programs.tracing import (
    Trace,
    Tracer,
    closed_over,
    current,
    needs_a_value,
    set_current_trace,
    transforming,
)
from olympus_ir.programs.wide_constants import numpy_classes, with_wide_type
from olympus_ir.settings.config_states import strong_zeros
from olympus_ir.trees import pytrees

from ..tables import concerns_refs, jvp_rules
from ..zeros import SymbolicZero, Zero, aval_of, can_move, instantiate
from .checks import check_constants, is_float0, split_aux
from .custom_linear import custom_lin_p

if TYPE_CHECKING:
    from . import held_references, recognition
else:
    held_references = deferred(".held_references", milliseconds=20)
    recognition = deferred(".recognition", milliseconds=1.6)

__all__ = [
    "JVP",
    "DerivativeTrace",
    "DualTrace",
    "DualTracer",
    "PrimalTracer",
    "call_differentiated",
    "custom_linear_part",
    "expand",
    "tangents_for_rule",
]

#: The name of `jvp` and `linearize` in the name stacks of equations.
JVP = TransformationName("jvp")


# ---- tracers ----


class PrimalTracer(Tracer):
    """Tracer that stands for a primal value in the user's function. Subclasses add derivatives.

    Attributes:
      primal: the primal value.
    """

    __slots__ = ("primal",)

    primal: Any

    @property
    def aval(self) -> Any:
        return aval_of(self.primal)

    def concrete_or_none(self) -> Any:
        primal = self.primal
        return primal.concrete_or_none() if isinstance(primal, Tracer) else primal

    # Conversions to Python numbers raise, because a Python number would have no derivative.
    def __float__(self) -> NoReturn:
        self._check_scalar()
        raise needs_a_value("float() was called on", "`x.astype(float)`")(self)

    def __complex__(self) -> NoReturn:
        self._check_scalar()
        raise needs_a_value("complex() was called on", "`x.astype(complex)`")(self)

    def _origin_message(self) -> str:
        primal = self.primal
        return primal._origin_message() if isinstance(primal, Tracer) else ""


class DualTracer(PrimalTracer):
    """A primal value with its tangent, which is never a symbolic zero."""

    __slots__ = ("tangent",)

    def __init__(self, trace: DualTrace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent


# ---- traces ----


class DerivativeTrace(Trace):
    """Base of the traces that differentiate, which handles references and mesh axes."""

    __slots__ = ()

    parent: Trace  # pyright: ignore[reportIncompatibleVariableOverride] - never None here

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        if primitive.takes_refs and concerns_refs(primitive, args):
            result = held_references.apply_to_refs(self, primitive, args, params)
            if result is not NotImplemented:
                return result
        if len(args) > 1 and current.axes.varying and primitive.spreads_varying:
            # The casts come before the rule, so that tangents vary over the same mesh axes as
            # primals.
            with set_current_trace(self):
                args = varying_alike(args)
        return self.differentiate(primitive, args, params)

    def differentiate(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        """Applies a primitive, and its derivative rule if an operand is not constant."""
        raise NotImplementedError(f"{type(self).__name__} must define differentiate")


class DualTrace(DerivativeTrace):
    """Trace that applies primitives to primal values and tangents by the rules of `jvp_rules`.

    Args:
      parent: the trace that receives primal computations.
      rule_trace: the trace under which rules run. It receives operations on tangents.
      tag: an object that identifies the transformation. The trace accepts the tracers of other
        traces with the same tag as its own.
    """

    __slots__ = ("rule_trace", "tag")

    #: The class of the trace's tracers.
    tracer: ClassVar[type[DualTracer]]
    #: Rules ``rule(trace, primals, tangents, **params)`` that take precedence over `jvp_rules`.
    split_rules: ClassVar[Mapping[Primitive, Callable[..., Any]]] = {}

    def __init__(self, parent: Trace, rule_trace: Trace, tag: object) -> None:
        super().__init__()
        self.parent = parent
        self.rule_trace = rule_trace
        self.tag = tag

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        """Returns the operands' primals and tangents, and whether any tangent is not zero."""
        tracer = self.tracer
        primals = []
        tangents: list[Any] = []
        moving = False
        for arg in args:
            if arg.__class__ is tracer and (arg._trace is self or arg._trace.tag is self.tag):
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                moving = True
            else:
                if arg.__class__ in numpy_classes:
                    arg = with_wide_type(len(primals), args, {})
                primals.append(arg)
                tangents.append(Zero.of(arg))
        return primals, tangents, moving

    def differentiate(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        # This code repeats `split` inline, which saves a call for each primitive (benchmark "eager
        # grad").
        tracer, moving = self.tracer, False
        primals: list[Any] = []
        tangents: list[Any] = []
        for arg in args:
            if arg.__class__ is tracer and (arg._trace is self or arg._trace.tag is self.tag):
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                moving = True
            else:
                if arg.__class__ in numpy_classes:
                    arg = with_wide_type(len(primals), args, params)
                primals.append(arg)
                tangents.append(Zero.of(arg))
        if not moving:
            return primitive.bind_with_trace(self.parent, args, params)
        rule = jvp_rules.rules.get(primitive) or jvp_rules.find(primitive)
        if rule is None:
            return expand(self, primitive, args, params)
        previous = current.trace
        current.trace = self.rule_trace
        try:
            if primitive in self.split_rules:
                rule = self.split_rules[primitive]
                results, tangents_out = rule(self, primals, tangents, **params)
            else:
                results, tangents_out = rule(primals, tangents, **params)
        except (AttributeError, IndexError, TypeError, ValueError, ZeroDivisionError):
            refusal = primitive.refusal(tuple(map(aval_of, primals)), params)
            if refusal is None:
                raise
            raise refusal from None
        finally:
            current.trace = previous
        if primitive.multiple_results:
            return list(map(self.pair, results, tangents_out))
        if tangents_out.__class__ is Zero:
            return results
        if tangents_out is None:
            return _without_tangent(primitive, results)
        return self.tracer(self, results, tangents_out)

    # ---- tracers ----

    def pair(self, primal: Any, tangent: Any) -> Any:
        """Returns a tracer of the value and its tangent; the value alone if the tangent is zero."""
        if tangent.__class__ in (Zero, SymbolicZero) or is_float0(tangent):
            return primal
        return self.tracer(self, primal, tangent)

    def unpair(self, value: Any) -> tuple[Any, Any]:
        """Returns a value's primal and its tangent, which may be a symbolic zero."""
        if value.__class__ is self.tracer and (
            value._trace is self or value._trace.tag is self.tag
        ):
            return value.primal, value.tangent
        return value, Zero.of(value)

    def primal_of(self, value: Any) -> Any:
        """Returns a value's primal."""
        return self.unpair(value)[0]

    def finish(self) -> None:
        """Ends the trace. Its tracers must not be used afterwards."""
        self.finished = True

    # ---- functions with custom rules ----

    def process_custom_jvp_call(
        self,
        primitive: Any,
        fun: Any,
        jvp: Any,
        args: Any,
        *,
        symbolic_zeros: bool,
        num_consts: int = 0,
    ) -> Sequence[Any]:
        primals, tangents, moving = self.split(args)
        check_constants("custom_jvp", tangents[:num_consts])
        if not moving:
            with set_current_trace(self.parent) as parent:
                return parent.process_custom_jvp_call(
                    primitive,
                    fun,
                    jvp,
                    args,
                    symbolic_zeros=symbolic_zeros,
                    **closed_over(num_consts),
                )
        with set_current_trace(self.rule_trace):
            results = jvp(*primals, *tangents_for_rule(tangents, symbolic_zeros))
        half = len(results) // 2
        return list(map(self.pair, results[:half], results[half:]))

    def process_custom_vjp_call(
        self,
        primitive: Any,
        fun: Any,
        fwd: Any,
        bwd: Any,
        args: Any,
        *,
        out_trees: Any,
        symbolic_zeros: bool,
        num_consts: int = 0,
    ) -> Sequence[Any]:
        primals, tangents, moving = self.split(args)
        check_constants("custom_vjp", tangents[:num_consts])
        with set_current_trace(self.parent) as parent:
            if not moving:
                return parent.process_custom_vjp_call(
                    primitive,
                    fun,
                    fwd,
                    bwd,
                    args,
                    out_trees=out_trees,
                    symbolic_zeros=symbolic_zeros,
                    **closed_over(num_consts),
                )
            results, operands, params = custom_linear_part(
                fwd, bwd, out_trees, primals, tangents, symbolic_zeros
            )
        with set_current_trace(self.rule_trace):
            tangents_out = custom_lin_p.bind(*operands, **params)
        return [
            self.pair(result, tangent if can_move(aval_of(result)) else Zero.of(result))
            for result, tangent in zip(results, tangents_out, strict=True)
        ]


def expand(trace: Trace, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Applies the expansion of a primitive that has no derivative rule.

    Raises:
      MissingRuleError: the primitive has neither a rule nor an expansion.
    """
    expansion = expansion_rules.rules.get(primitive)
    if expansion is None:
        with contextlib.suppress(NotImplementedError):  # a primitive without a shape rule
            # This raises an error for operands of wrong types.
            primitive.infer(tuple(map(aval_of, args)), params)
        raise jvp_rules.missing(primitive)
    with set_current_trace(trace):
        return expansion(*args, **params)


def tangents_for_rule(tangents: Sequence[Any], symbolic_zeros: bool) -> list[Any]:
    """Returns tangents as a custom rule expects them: with symbolic zeros, or all as arrays."""
    if symbolic_zeros:
        return [SymbolicZero(t.aval) if t.__class__ is Zero else t for t in tangents]
    return [instantiate(tangent) for tangent in tangents]


def custom_linear_part(
    fwd: Callable[..., Sequence[Any]],
    bwd: Callable[..., Sequence[Any]],
    out_trees: Callable[[], tuple[Any, Any]],
    primals: Sequence[Any],
    tangents: Sequence[Any],
    symbolic_zeros: bool,
) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Runs the forward pass of a `custom_vjp` rule.

    Returns:
      The results, and the operands and parameters of the `custom_lin` that stands for the results'
      tangents.
    """
    in_zeros = tuple([tangent.__class__ is Zero for tangent in tangents])
    if symbolic_zeros:
        flat = fwd(*primals, *[not zero for zero in in_zeros])
    else:
        flat = fwd(*primals)
    _, residual_tree = out_trees()
    count = residual_tree.num_leaves
    residuals, results = list(flat[:count]), list(flat[count:])
    params = {
        "num_res": count,
        "bwd": bwd,
        "in_zeros": in_zeros,
        "out_avals": tuple([aval_of(result).to_tangent_aval() for result in results]),
        "symbolic_zeros": symbolic_zeros,
    }
    moving = [tangent for tangent in tangents if tangent.__class__ is not Zero]
    return results, [*residuals, *moving], params


# ---- the call of a differentiated function ----


def call_differentiated(
    trace: DualTrace,
    fun: Callable[..., Any],
    args: Sequence[Any],
    has_aux: bool,
) -> tuple[Any, Any]:
    """Calls a function under a trace, and ends the trace.

    Args:
      trace: the trace of the arguments' tracers.
      fun: the function.
      args: the arguments, pytrees with tracers among their leaves.
      has_aux: whether the function returns a pair; only the first part is differentiated.

    Returns:
      The pair of the function's result and the auxiliary result. Leaves of the first may be
      tracers. The second has no tracers of the trace; it is None without ``has_aux``.

    Raises:
      TypeError: ``has_aux`` is set and the function does not return a pair.
    """
    if strong_zeros.value:
        fun = recognition.recognizing(fun)
    try:
        with set_current_trace(trace), transforming(JVP):
            result = fun(*args)
        if not has_aux:
            return result, None
        result, aux = split_aux(result)
        return result, pytrees.tree_map(trace.primal_of, aux)
    finally:
        trace.finish()


def _without_tangent(primitive: Primitive, result: Any) -> Any:
    """Returns the result of a primitive whose jvp rule returned None as the tangent.

    Rules of some libraries return None for types without tangents, such as integers.

    Raises:
      TypeError: the type of the result has tangents.
    """
    if can_move(aval_of(result)):
        raise TypeError(
            f"the jvp rule of {primitive.name} returned None for the tangent of a result of type "
            f"{aval_of(result).str_short()}. None stands for the tangents of integers; return "
            "`Zero` for a tangent that is zero"
        )
    return result
