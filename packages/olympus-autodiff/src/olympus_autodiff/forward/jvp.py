# SPDX-License-Identifier: Apache-2.0
"""Forward mode: pushing tangents along with the computation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.diagnostics.errors import UnexpectedTracerError
from olympus_ir.diagnostics.source_info import TransformationName
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_olympuspr, varying_alike
from olympus_ir.programs.tracing import (
    Trace,
    Tracer,
    closed_over,
    current,
    register_tracer_type,
    set_current_trace,
    transforming,
)
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes, known_types
from olympus_ir.types.avals import ShapedArray

from ..memoization import memoized
from ..tables import concerns_refs, jvp_rules, load_rules
from ..zeros import SymbolicZero, Zero, as_result, aval_of, can_move, instantiate, laid_out_as
from .custom_linear import custom_lin_p
from .tracers import PrimalTracer

__all__ = ["JVPTrace", "JVPTracer", "jvp", "jvp_flat", "jvp_olympuspr"]


JVP = TransformationName("jvp")


@register_tracer_type
class JVPTracer(PrimalTracer):
    """A value together with its tangent, which is never a symbolic zero."""

    __slots__ = ("tangent",)

    def __init__(self, trace: JVPTrace, primal: Any, tangent: Any) -> None:
        self._trace = trace
        self.primal = primal
        self.tangent = tangent

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"


class JVPTrace(Trace):
    """Applies primitives to values and their tangents by the rules of `jvp_rules`."""

    __slots__ = ()

    parent: Trace  # pyright: ignore[reportIncompatibleVariableOverride] - never None here

    def __init__(self, parent: Trace) -> None:
        super().__init__(parent)
        load_rules()

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
        primals, tangents, moving = self.split(args)
        if not moving:
            return primitive.bind_with_trace(self.parent, args, params)
        rule = jvp_rules.rules.get(primitive)
        if rule is None:
            return expand(self, primitive, args, params)
        with set_current_trace(self.parent):
            results, tangents_out = rule(primals, tangents, **params)
        if primitive.multiple_results:
            return list(map(self.pair, results, tangents_out))
        if tangents_out.__class__ is Zero:
            return results
        return JVPTracer(self, results, tangents_out)

    def split(self, args: Sequence[Any]) -> tuple[list[Any], list[Any], bool]:
        """The operands' values and tangents, and whether any tangent is not zero."""
        primals = []
        tangents: list[Any] = []
        moving = False
        for arg in args:
            if arg.__class__ is JVPTracer and arg._trace is self:
                primals.append(arg.primal)
                tangents.append(arg.tangent)
                moving = True
            else:
                primals.append(arg)
                tangents.append(Zero.of(arg))
        return primals, tangents, moving

    def to_primal_tangent_pair(self, val: Any) -> tuple[Any, Any]:
        """The value of an operand and its tangent, which is a `Zero` where it has none."""
        (primal,), (tangent,), _ = self.split([val])
        return primal, tangent

    def pair(self, primal: Any, tangent: Any) -> Any:
        """A value with its tangent; the value alone where the tangent is zero."""
        if tangent.__class__ in (Zero, SymbolicZero) or is_float0(tangent):
            return primal
        return JVPTracer(self, primal, tangent)

    def unpair(self, value: Any) -> tuple[Any, Any]:
        """A result's value and tangent, which may be a symbolic zero."""
        if value.__class__ is JVPTracer and value._trace is self:
            return value.primal, value.tangent
        return value, Zero.of(value)

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
        with set_current_trace(self.parent) as parent:
            if not moving:
                return parent.process_custom_jvp_call(
                    primitive,
                    fun,
                    jvp,
                    args,
                    symbolic_zeros=symbolic_zeros,
                    **closed_over(num_consts),
                )
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
            tangents_out = custom_lin_p.bind(*operands, **params)
        return list(map(self.pair, results, tangents_out))


def expand(trace: Trace, primitive: Primitive, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Applies what a primitive stands for, where it has no derivative rule of its own."""
    expansion = expansion_rules.rules.get(primitive)
    if expansion is None:
        raise jvp_rules.missing(primitive)
    with set_current_trace(trace):
        return expansion(*args, **params)


def is_float0(value: Any) -> bool:
    return getattr(value, "dtype", None) == dtypes.float0


def check_constants(kind: str, tangents: Sequence[Any]) -> None:
    """Raises where a function with its own rule is differentiated by what it closes over."""
    for tangent in tangents:
        if tangent.__class__ is not Zero:
            raise UnexpectedTracerError(
                f"Detected differentiation of a {kind} function with respect to a closed-over "
                "value. Its rule says how to differentiate it with respect to its arguments only. "
                f"Pass the value of type {aval_of(tangent).str_short()} to it as an argument."
            )


def tangents_for_rule(tangents: Sequence[Any], symbolic_zeros: bool) -> list[Any]:
    """Tangents as a custom rule wants them: with zeros symbolic, or as arrays."""
    if symbolic_zeros:
        return [SymbolicZero(t.aval) if t.__class__ is Zero else t for t in tangents]
    return [instantiate(tangent) for tangent in tangents]


def custom_linear_part(
    fwd: Any,
    bwd: Any,
    out_trees: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    symbolic_zeros: bool,
) -> tuple[list[Any], list[Any], dict[str, Any]]:
    """Runs the forward pass of a custom rule.

    Returns:
      The results, and the operands and parameters of the `custom_lin` that gives their tangents.
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


# ---- the transformation ----


@api_boundary
def jvp(
    fun: Callable[..., Any], primals: Any, tangents: Any, has_aux: bool = False
) -> tuple[Any, ...]:
    """Computes a function and its directional derivative in one pass.

    Args:
      fun: the function to differentiate. Its arguments are arrays or pytrees of arrays.
      primals: a tuple or list of the arguments at which ``fun`` is differentiated.
      tangents: a tuple or list of the direction, of the same structure, shapes and dtypes as
        ``primals``. The tangent of an integer argument has dtype ``float0``.
      has_aux: whether ``fun`` returns a pair of which only the first part is differentiated.

    Returns:
      ``(result, tangent)``, or ``(result, tangent, aux)`` where ``has_aux``.

    Raises:
      TypeError: where primals and tangents differ in structure or dtype.
      ValueError: where they differ in shape.

    See Also:
      linearize: evaluates once and then maps many tangents.
      vjp: the derivative in reverse mode.

    Example:
      >>> from olympus_ir import lax
      >>> jvp(lambda x: lax.mul(x, x), (3.0,), (1.0,))
      (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r} of type {type(fun).__name__}")
    if not isinstance(primals, tuple | list) or not isinstance(tangents, tuple | list):
        raise TypeError(
            f"primal and tangent arguments to {naming.module}.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    primal_leaves, tree = pytrees.tree_flatten(primals)
    tangent_leaves, tangent_tree = pytrees.tree_flatten(tangents)
    if tree != tangent_tree:
        raise TypeError(
            f"primal and tangent arguments to {naming.module}.jvp must have the same tree "
            "structure; primals have "
            f"tree structure {tree} whereas tangents have tree structure {tangent_tree}."
        )
    trace = JVPTrace(current.trace)
    refs: Any = None
    inputs = []
    for primal, tangent in zip(primal_leaves, tangent_leaves, strict=True):
        aval = aval_of(primal)
        if aval.is_ref:
            if refs is None:
                from .held_references import GivenRefs  # most programs have no references

                refs = GivenRefs(trace)
            inputs.append(refs.input(primal, tangent))
        else:
            inputs.append(trace.pair(primal, _checked_tangent(aval, tangent)))
    aux = None
    try:
        with set_current_trace(trace), transforming(JVP):
            result = fun(*pytrees.tree_unflatten(tree, inputs))
        if has_aux:
            result, aux = split_aux(result)
            aux = pytrees.tree_map(lambda leaf: trace.unpair(leaf)[0], aux)
        leaves, out_tree = pytrees.tree_flatten(result)
        pairs = [trace.unpair(leaf) for leaf in leaves]
    finally:
        trace.finished = True
    if refs is not None:
        refs.write_back()
    check_results_are_arrays(primal for primal, _ in pairs)
    primals_out = pytrees.tree_unflatten(out_tree, [primal for primal, _ in pairs])
    tangents_out = pytrees.tree_unflatten(out_tree, [as_result(tangent) for _, tangent in pairs])
    return (primals_out, tangents_out, aux) if has_aux else (primals_out, tangents_out)


def _checked_tangent(aval: Any, tangent: Any) -> Any:
    tangent_aval = tangent_aval_of(tangent)
    expected = aval.to_tangent_aval()
    if known_types.is_high(expected) and tangent_aval == expected:
        return tangent
    if tangent_aval.dtype != expected.dtype:
        raise TypeError(
            f"primal and tangent arguments to {naming.module}.jvp do not match; dtypes must be "
            "equal, or in case of "
            "int/bool primal dtype the tangent dtype must be float0. Got primal dtype "
            f"{dtypes.name_of(aval.dtype)} and so expected tangent dtype "
            f"{dtypes.name_of(expected.dtype)}, but got tangent dtype "
            f"{dtypes.name_of(tangent_aval.dtype)} instead."
        )
    if tangent_aval.shape != aval.shape:
        raise ValueError(
            f"jvp called with different primal and tangent shapes; got primal shape {aval.shape} "
            f"and tangent shape {tangent_aval.shape}."
        )
    if tangent_aval.layout is not expected.layout:
        tangent = laid_out_as(tangent, expected)
    return Zero(expected) if expected.dtype == dtypes.float0 else tangent


def tangent_aval_of(tangent: Any) -> Any:
    """The type of a tangent or cotangent, which may be of dtype float0."""
    if is_float0(tangent):
        return ShapedArray(tangent.shape, dtypes.float0)
    return aval_of(tangent)


def split_aux(result: Any) -> tuple[Any, Any]:
    """The two parts of what a function with ``has_aux`` returned.

    Raises:
      TypeError: where it did not return a pair.
    """
    if not isinstance(result, tuple | list) or len(result) != 2:
        raise TypeError(
            "expected function with aux output to return a two-element tuple, but got type "
            f"{type(result)} with value {result!r}"
        )
    return result[0], result[1]


def check_results_are_arrays(leaves: Any) -> None:
    """Raises TypeError where a result is not an array."""
    for leaf in leaves:
        aval = aval_of(leaf)
        if aval.is_ref:
            raise TypeError(
                f"a differentiated function returned a reference, of type {aval.str_short()}: "
                "return what it holds, `ref[...]`"
            )


def check_no_reference(aval: Any) -> None:
    """Raises TypeError where a function would be differentiated by a reference."""
    if aval.is_ref:
        raise TypeError(
            f"functions cannot be differentiated with respect to a reference, of type "
            f"{aval.str_short()}: pass what it holds, `ref[...]`, and make a reference inside"
        )


def jvp_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Pushes tangents, which may be `Zero`, through a function of flat operands.

    Returns:
      The results and their tangents, which may be `Zero`.
    """
    trace = JVPTrace(current.trace)
    with set_current_trace(trace):
        results = fun(*map(trace.pair, primals, tangents))
    pairs = [trace.unpair(result) for result in results]
    trace.finished = True
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


# ---- programs ----


def jvp_olympuspr(
    closed: ClosedOlympuspr, nonzero_in: Sequence[bool], instantiate_out: Sequence[bool] | bool = ()
) -> tuple[ClosedOlympuspr, tuple[bool, ...]]:
    """The program that pushes tangents through a program.

    Args:
      closed: the program.
      nonzero_in: for each input, whether it has a tangent.
      instantiate_out: for each result whether its tangent is wanted even where it is zero;
        True for all results.

    Returns:
      The program from the inputs and the tangents they have to the results and the tangents these
      have; and for each result, whether it has one.
    """
    wanted = (
        (bool(instantiate_out),) * len(closed.out_avals)
        if isinstance(instantiate_out, bool)
        else tuple(instantiate_out) or (False,) * len(closed.out_avals)
    )
    return _jvp_olympuspr(closed, tuple(nonzero_in), wanted)


@memoized
def _jvp_olympuspr(
    closed: ClosedOlympuspr, nonzero_in: tuple[bool, ...], wanted: tuple[bool, ...]
) -> tuple[ClosedOlympuspr, tuple[bool, ...]]:
    count = len(nonzero_in)
    nonzero_out: tuple[bool, ...] = ()

    def pushed_forward(*operands: Any) -> list[Any]:
        nonlocal nonzero_out
        primals, tangents = operands[:count], iter(operands[count:])
        trace = JVPTrace(current.trace)
        inputs = [
            JVPTracer(trace, primal, next(tangents)) if nonzero else primal
            for primal, nonzero in zip(primals, nonzero_in, strict=True)
        ]
        with set_current_trace(trace):
            results = eval_olympuspr(closed.jaxpr, closed.consts, *inputs)
        pairs = [trace.unpair(result) for result in results]
        trace.finished = True
        nonzero_out = tuple(
            can_move(aval_of(primal)) and (want or tangent.__class__ is not Zero)
            for (primal, tangent), want in zip(pairs, wanted, strict=True)
        )
        return [primal for primal, _ in pairs] + [
            instantiate(tangent)
            for (_, tangent), nonzero in zip(pairs, nonzero_out, strict=True)
            if nonzero
        ]

    in_avals = closed.in_avals
    tangent_avals = [
        aval.to_tangent_aval()
        for aval, nonzero in zip(in_avals, nonzero_in, strict=True)
        if nonzero
    ]
    olympuspr, consts = trace_to_olympuspr(
        pushed_forward, [*in_avals, *tangent_avals], closed.debug_info
    )
    check_no_tracers(consts)
    return ClosedOlympuspr(olympuspr, consts), nonzero_out


def check_no_tracers(consts: Sequence[Any]) -> None:
    """Raises where the derivative of a program depends on tracers that its equation does not take.

    Only a custom rule that closes over a traced value can bring this about.
    """
    for value in consts:
        if isinstance(value, Tracer):
            raise closed_over_error(value)


def closed_over_error(tracer: Tracer) -> Exception:
    from olympus_ir.diagnostics.errors import UnexpectedTracerError  # only needed for the error

    return UnexpectedTracerError(
        "The derivative rule of a custom_jvp or custom_vjp function uses a traced value of type "
        f"{tracer.aval.str_short()} from an enclosing function, and the function is called inside "
        "a compiled function or control flow, whose derivative cannot depend on it. Pass the value "
        f"to the function as an argument. {tracer._origin_message()}"
    )
