# SPDX-License-Identifier: Apache-2.0
"""Linearization: evaluates a function and records its derivative as a linear program.

The jvp rule of each primitive runs once, under a `TangentTrace`, which records operations on
tangents and passes all other operations to the parent trace. The recorded program is linear in the
tangents. Run forward, it computes the jvp at this point; run backward, the vjp.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from olympus_ir.diagnostics.traceback_filtering import api_boundary, boundary_class
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import Olympuspr
from olympus_ir.programs.staging import StagingTracer
from olympus_ir.programs.tracing import Trace, current, register_tracer_type
from olympus_ir.trees import pytrees
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.typed_scalars import typed

from ..tables import linearize_rules
from ..zeros import Zero, as_result, aval_of, can_move
from .checks import check_no_reference, check_results_are_arrays, tangent_aval_of
from .dual_trace import DualTrace, DualTracer, call_differentiated
from .tangent_trace import TangentTrace

__all__ = ["Linearization", "LinearizeTrace", "LinearizeTracer", "linearize", "linearize_at"]


@register_tracer_type
class LinearizeTracer(DualTracer):
    """A primal value together with its tangent in the linear program."""

    __slots__ = ()

    def __repr__(self) -> str:
        tangent = aval_of(self.tangent).str_short(short_dtypes=True)
        return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent})"


class LinearizeTrace(DualTrace):
    """Trace that evaluates primitives in the parent trace and records their derivatives.

    Args:
      parent: the trace that receives primal computations.

    Attributes:
      tangent_trace: the trace that records the linear program. Rules run under it.
    """

    __slots__ = ("tangent_trace",)

    tracer = LinearizeTracer
    split_rules = linearize_rules.rules

    def __init__(self, parent: Trace) -> None:
        self.tangent_trace = TangentTrace(parent)
        super().__init__(parent, rule_trace=self.tangent_trace, tag=self.tangent_trace)

    def new_input(self, primal: Any) -> Any:
        """Returns a tracer of an input; the input itself if its type has no tangents."""
        aval = aval_of(primal)
        if aval.is_ref:
            return primal
        tangent_aval = aval.to_tangent_aval()
        if tangent_aval is not aval and not can_move(tangent_aval):
            return primal
        return LinearizeTracer(self, primal, self.tangent_trace.new_input(tangent_aval))

    def pair(self, primal: Any, tangent: Any) -> Any:
        if tangent.__class__ is StagingTracer:  # recorded tangents are never float0
            return LinearizeTracer(self, primal, tangent)
        return super().pair(primal, tangent)

    def finish(self) -> None:
        self.finished = self.tangent_trace.finished = True


# ---- the driver of `linearize`, `vjp` and `grad` ----


class Linearization(NamedTuple):
    """A function evaluated at a point, with the record of its derivative at this point.

    Attributes:
      trace: the trace, which has ended. Its ``tangent_trace`` holds the linear program.
      inputs: the leaves of the arguments: tracers, or the values themselves if they have no
        tangents.
      in_tree: the structure of the arguments.
      result: the function's result, a pytree whose leaves are tracers or constants.
      aux: the auxiliary result of the function, or None.
    """

    trace: LinearizeTrace
    inputs: list[Any]
    in_tree: Any
    result: Any
    aux: Any

    def outputs(self) -> tuple[list[Any], list[Any], Any]:
        """Returns the leaves of the result, their tangents, and the structure of the result.

        A tangent is a recorded value, or a `Zero` if the leaf does not depend on the arguments.

        Raises:
          TypeError: a leaf is not an array.
        """
        leaves, tree = pytrees.tree_flatten(self.result)
        pairs = [self.trace.unpair(leaf) for leaf in leaves]
        primals = [primal for primal, _ in pairs]
        check_results_are_arrays(primals)
        return primals, [tangent for _, tangent in pairs], tree

    def has_tangent(self, value: Any) -> bool:
        """Returns whether an input is a tracer of this linearization."""
        return value.__class__ is LinearizeTracer and value._trace is self.trace

    def as_arguments(self, cotangents: Iterable[Any]) -> Any:
        """Returns cotangents in the structure of the arguments.

        The given cotangents are those of the inputs with tangents. Inputs without tangents get
        zero cotangents.
        """
        remaining = iter(cotangents)
        return pytrees.tree_unflatten(
            self.in_tree,
            [
                as_result(next(remaining) if self.has_tangent(value) else Zero.of(value))
                for value in self.inputs
            ],
        )


def linearize_at(
    fun: Callable[..., Any],
    primals: Sequence[Any],
    has_aux: bool,
    check: Callable[[Any], None] | None = None,
    lift: Callable[[Any], Any] = typed,
) -> Linearization:
    """Evaluates a function and records its derivative.

    References among the arguments are passed on as they are, without tangents.

    Args:
      fun: the function.
      primals: the arguments, arrays or pytrees of arrays.
      has_aux: whether the function returns a pair of which only the first part is differentiated.
      check: a function that is called with each leaf of the arguments, and raises to reject it.
      lift: a function that makes the primal value of each leaf; by default, Python numbers get a
        dtype.

    Returns:
      The record, whose trace has ended.
    """
    leaves, in_tree = pytrees.tree_flatten(primals)
    if check is not None:
        for leaf in leaves:
            check(leaf)
    trace = LinearizeTrace(current.trace)
    inputs = [trace.new_input(lift(leaf)) for leaf in leaves]
    arguments = pytrees.tree_unflatten(in_tree, inputs)
    result, aux = call_differentiated(trace, fun, arguments, has_aux)
    return Linearization(trace, inputs, in_tree, result, aux)


# ---- the transformation ----


@boundary_class
class LinearFunction:
    """A linear program as a function of pytrees of tangents.

    Linear functions are compared and hashed by identity, so they can be static data of a pytree.
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
        self.moving = moving  # for each argument leaf, whether it has a tangent
        self.in_avals = in_avals
        self.in_tree = in_tree
        # for each result leaf, the type of its tangent if the tangent is zero, else None
        self.out = out
        self.out_tree = out_tree

    @property
    def args(self) -> tuple[Olympuspr]:
        """A tuple of the program, like the arguments of the partial function that JAX returns."""
        return (self.olympuspr,)

    def __call__(self, coefficients: Sequence[Any], *tangents: Any) -> Any:
        leaves, tree = pytrees.tree_flatten(tangents)
        if tree != self.in_tree:
            raise TypeError(
                "the linearized function was called with tangents whose structure differs "
                "from that of the "
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
            [as_result(next(results) if zero is None else Zero(zero), leaves) for zero in self.out],
        )

    def __repr__(self) -> str:
        return str(self.olympuspr)


def check_tangent_type(tangent: Any, primal_aval: Any) -> None:
    """Raises ValueError if a tangent does not have the tangent type of its primal value."""
    expected = primal_aval.to_tangent_aval()
    aval = tangent_aval_of(tangent)
    if aval.shape != expected.shape or aval.dtype != expected.dtype:
        raise ValueError(
            "linearized function called on tangent values inconsistent with the original primal "
            f"values: got tangent {aval.str_short()} for primal {primal_aval.str_short()}, "
            f"expected {expected.str_short()}."
        )
    extra = getattr(aval, "vma", frozenset()) - getattr(expected, "vma", frozenset())
    if extra:
        raise ValueError(
            "linearized function called on tangent values inconsistent with the original primal "
            f"values: Got tangent aval {aval.str_short(True)} for primal aval "
            f"{primal_aval.str_short(True)} but expected {expected.str_short(True)}. \nThis might "
            f"be fixed by:\n  * applying `olympus.lax.pcast(..., {tuple(sorted(extra, key=str))}, "
            "to='varying')` to the primal value passed to linearize"
        )


@api_boundary
def linearize(fun: Callable[..., Any], *primals: PyTree, has_aux: bool = False) -> tuple[Any, ...]:
    """Evaluates a function at a point, and returns its derivative at this point as a function.

    The operations that do not depend on the tangents run once. With `jvp` they run for each
    tangent. The derivative can therefore be applied to many tangents cheaply, but the residuals
    stay in memory.

    Args:
      fun: the function to differentiate. Its arguments are arrays or pytrees of arrays.
      *primals: the arguments at which ``fun`` is differentiated.
      has_aux: whether ``fun`` returns a pair of which only the first part is differentiated.

    Returns:
      ``(result, derivative)``, or ``(result, derivative, aux)`` if ``has_aux``. The derivative
      takes tangents of the structure of ``primals``. The derivative is a pytree whose leaves are
      the residuals, so compiled functions may return it.

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
    point = linearize_at(fun, primals, has_aux, _check_differentiable, lift=_unchanged)
    results, tangents, out_tree = point.outputs()
    olympuspr, coefficients = point.trace.tangent_trace.to_olympuspr(
        [tangent for tangent in tangents if tangent.__class__ is not Zero]
    )
    function = LinearFunction(
        olympuspr,
        tuple(map(point.has_tangent, point.inputs)),
        tuple(map(aval_of, point.inputs)),
        point.in_tree,
        tuple(tangent.aval if tangent.__class__ is Zero else None for tangent in tangents),
        out_tree,
    )
    derivative = pytrees.Partial(function, coefficients)
    primals_out = pytrees.tree_unflatten(out_tree, results)
    return (primals_out, derivative, point.aux) if has_aux else (primals_out, derivative)


def _unchanged(leaf: Any) -> Any:
    return leaf


def _check_differentiable(leaf: Any) -> None:
    check_no_reference(aval_of(leaf))
