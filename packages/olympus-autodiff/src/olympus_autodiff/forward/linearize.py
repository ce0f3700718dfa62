# SPDX-License-Identifier: Apache-2.0
"""Linearization: evaluating a function and recording its derivative as a linear program.

Each primitive is evaluated by the parent trace and its jvp rule run once, under a `TangentTrace`
that records what is done to tangents and passes everything else to the parent. The recorded program
is linear in the tangents; run forward it is the jvp at this point, run backward the vjp.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import StagingTracer, varying_alike
from olympus_ir.programs.tracing import (
    Trace,
    closed_over,
    current,
    register_tracer_type,
    set_current_trace,
    transforming,
)
from olympus_ir.trees import pytrees

from ..tables import concerns_refs, jvp_rules, linearize_rules, load_rules
from ..zeros import SymbolicZero, Zero, as_result, aval_of, can_move
from .custom_linear import custom_lin_p
from .jvp import (
    JVP,
    check_constants,
    check_no_reference,
    check_results_are_arrays,
    custom_linear_part,
    expand,
    is_float0,
    split_aux,
    tangent_aval_of,
    tangents_for_rule,
)
from .tangent_trace import TangentTrace
from .tracers import PrimalTracer

__all__ = ["LinearizeTrace", "LinearizeTracer", "linearize"]


@register_tracer_type
class LinearizeTracer(PrimalTracer):
    """A value of the primal computation together with its tangent in the linear program."""

    __slots__ = ("tangent",)

    def __init__(self, trace: LinearizeTrace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent

    def __repr__(self) -> str:
        tangent = aval_of(self.tangent).str_short(short_dtypes=True)
        return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent})"


class LinearizeTrace(Trace):
    """Evaluates primitives in the parent trace and records their derivatives.

    Args:
      parent: where the primal computation goes.

    Attributes:
      tangent_trace: the record of the linear program.
    """

    __slots__ = ("tangent_trace",)

    parent: Trace  # pyright: ignore[reportIncompatibleVariableOverride] - never None here

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        self.tangent_trace = TangentTrace(parent)
        load_rules()

    def new_input(self, primal: Any) -> Any:
        """A tracer of a value to differentiate by; the value itself if it has no tangents."""
        aval = aval_of(primal)
        check_no_reference(aval)
        tangent_aval = aval.to_tangent_aval()
        if tangent_aval is not aval and not can_move(tangent_aval):
            return primal
        return LinearizeTracer(self, primal, self.tangent_trace.new_input(tangent_aval))

    def process_primitive(
        self, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]
    ) -> Any:
        if primitive.takes_refs and concerns_refs(primitive, args):
            from .held_references import apply_to_refs  # most programs have no references

            result = apply_to_refs(self, primitive, args, params)
            if result is not NotImplemented:
                return result
        if len(args) > 1 and current.axes.varying and primitive.spreads_varying:
            # Before the rule, so that tangents vary over the mesh axes that values vary over.
            with set_current_trace(self):
                args = varying_alike(args)
        primals = []
        tangents: list[Any] = []
        moving = False
        for arg in args:
            if arg.__class__ is LinearizeTracer and arg._trace is self:
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                moving = True
            else:
                primals.append(arg)
                tangents.append(Zero.of(arg))
        if not moving:
            return primitive.bind_with_trace(self.parent, args, params)
        rule = jvp_rules.rules.get(primitive)
        if rule is None:
            return expand(self, primitive, args, params)
        previous = current.trace
        current.trace = self.tangent_trace
        try:
            if primitive in linearize_rules.rules:
                results, tangents_out = linearize_rules.rules[primitive](
                    self, primals, tangents, **params
                )
            else:
                results, tangents_out = rule(primals, tangents, **params)
        finally:
            current.trace = previous
        if primitive.multiple_results:
            return list(map(self.pair, results, tangents_out))
        if tangents_out.__class__ is Zero:
            return results
        return LinearizeTracer(self, results, tangents_out)

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        """The operands' values and tangents, and whether any tangent is not zero."""
        primals = []
        tangents: list[Any] = []
        moving = False
        for arg in args:
            if arg.__class__ is LinearizeTracer and arg._trace is self:
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                moving = True
            else:
                primals.append(arg)
                tangents.append(Zero.of(arg))
        return primals, tangents, moving

    def pair(self, primal: Any, tangent: Any) -> Any:
        """A value with its tangent; the value alone where the tangent is zero."""
        if tangent.__class__ is StagingTracer:
            return LinearizeTracer(self, primal, tangent)
        if tangent.__class__ in (Zero, SymbolicZero) or is_float0(tangent):
            return primal
        return LinearizeTracer(self, primal, tangent)

    def unpair(self, value: Any) -> tuple[Any, Any]:
        """A result's value and tangent, which may be a symbolic zero."""
        if value.__class__ is LinearizeTracer and value._trace is self:
            return value.primal, value.tangent
        return value, Zero.of(value)

    def primal_of(self, value: Any) -> Any:
        """A result's value."""
        if value.__class__ is LinearizeTracer and value._trace is self:
            return value.primal
        return value

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
        with set_current_trace(self.tangent_trace):
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
        tangents_out = self.tangent_trace.record(custom_lin_p, operands, params)
        return [
            self.pair(result, tangent if can_move(aval_of(result)) else Zero.of(result))
            for result, tangent in zip(results, tangents_out, strict=True)
        ]


# ---- the transformation ----


class LinearFunction:
    """A linear program as a function of tangents, of the structures of the differentiated function.

    Equality and hash are those of the program, so that it can be static data of a pytree.
    """

    def __init__(
        self,
        olympuspr: Olympuspr,
        moving: Sequence[bool],
        in_avals: Sequence[Any],
        in_tree: Any,
        out: Sequence[Any],
        out_tree: Any,
    ) -> None:
        self.olympuspr = olympuspr
        self.moving = moving  # for each argument leaf: has it tangents?
        self.in_avals = in_avals
        self.in_tree = in_tree
        self.out = out  # for each result leaf: None, or the type of the tangent if it is zero
        self.out_tree = out_tree

    def __call__(self, coefficients: Sequence[Any], *tangents: Any) -> Any:
        leaves, tree = pytrees.tree_flatten(tangents)
        if tree != self.in_tree:
            raise TypeError(
                "the linearized function was called with tangents of another structure than the "
                f"primal arguments: expected {self.in_tree}, got {tree}"
            )
        inputs = []
        for leaf, aval, moving in zip(leaves, self.in_avals, self.moving, strict=True):
            check_tangent_type(leaf, aval)
            if moving:
                inputs.append(leaf)
        results = iter(eval_olympuspr(self.olympuspr, coefficients, *inputs))
        return pytrees.tree_unflatten(
            self.out_tree,
            [as_result(next(results) if zero is None else Zero(zero)) for zero in self.out],
        )

    def __repr__(self) -> str:
        return str(self.olympuspr)


def check_tangent_type(tangent: Any, primal_aval: Any) -> None:
    """Raises ValueError where a tangent does not fit the type of its primal value."""
    expected = primal_aval.to_tangent_aval()
    given = tangent_aval_of(tangent)
    if given.shape != expected.shape or given.dtype != expected.dtype:
        raise ValueError(
            "linearized function called on tangent values inconsistent with the original primal "
            f"values: got tangent {given.str_short()} for primal {primal_aval.str_short()}, "
            f"expected {expected.str_short()}."
        )
    extra = getattr(given, "vma", frozenset()) - getattr(expected, "vma", frozenset())
    if extra:
        raise ValueError(
            "linearized function called on tangent values inconsistent with the original primal "
            f"values: Got tangent aval {given.str_short(True)} for primal aval "
            f"{primal_aval.str_short(True)} but expected {expected.str_short(True)}. \nThis might "
            f"be fixed by:\n  * applying `olympus.lax.pcast(..., {tuple(sorted(extra, key=str))}, "
            "to='varying')` to the primal value passed to linearize"
        )


@api_boundary
def linearize(fun: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Evaluates a function and returns its derivative there as a function.

    As `jvp`, but the work that does not depend on the tangents is done once, and the derivative
    can be applied to many tangents cheaply. In return intermediate values are kept in memory.

    Args:
      fun: the function to differentiate. Its arguments are arrays or pytrees of arrays.
      *primals: the arguments at which ``fun`` is differentiated.
      has_aux: whether ``fun`` returns a pair of which only the first part is differentiated.

    Returns:
      ``(result, derivative)``, or ``(result, derivative, aux)`` where ``has_aux``. The derivative
      takes tangents of the structure of ``primals``. It is a pytree whose leaves are the
      intermediate values, so that it may be returned from compiled functions.

    See Also:
      jvp: for a single direction.
      vjp: the transposed derivative.

    Example:
      >>> from olympus_ir import lax
      >>> y, derivative = linearize(lambda x: lax.mul(x, x), 3.0)
      >>> derivative(1.0)
      Array(6., dtype=float32, weak_type=True)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r} of type {type(fun).__name__}")
    leaves, tree = pytrees.tree_flatten(primals)
    trace = LinearizeTrace(current.trace)
    inputs = [trace.new_input(leaf) for leaf in leaves]
    aux = None
    try:
        with set_current_trace(trace), transforming(JVP):
            result = fun(*pytrees.tree_unflatten(tree, inputs))
        if has_aux:
            result, aux = split_aux(result)
            aux = pytrees.tree_map(trace.primal_of, aux)
        out_leaves, out_tree = pytrees.tree_flatten(result)
        pairs = [trace.unpair(leaf) for leaf in out_leaves]
    finally:
        trace.finished = trace.tangent_trace.finished = True
    check_results_are_arrays(primal for primal, _ in pairs)
    olympuspr, coefficients = trace.tangent_trace.to_olympuspr(
        [tangent for _, tangent in pairs if tangent.__class__ is not Zero]
    )
    function = LinearFunction(
        olympuspr,
        tuple(isinstance(value, LinearizeTracer) and value._trace is trace for value in inputs),
        tuple(map(aval_of, leaves)),
        tree,
        tuple(tangent.aval if tangent.__class__ is Zero else None for _, tangent in pairs),
        out_tree,
    )
    derivative = pytrees.Partial(function, coefficients)
    primals_out = pytrees.tree_unflatten(out_tree, [primal for primal, _ in pairs])
    return (primals_out, derivative, aux) if has_aux else (primals_out, derivative)
