# SPDX-License-Identifier: Apache-2.0
"""Forward mode: tangents are computed along with the primal values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.loading import deferred
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import ClosedOlympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.programs.tracing import Trace, current, register_tracer_type, set_current_trace
from olympus_ir.settings.naming import naming
from olympus_ir.trees import pytrees
from olympus_ir.types import dtypes, known_types
from olympus_ir.types.annotations import PyTree

from ..memoization import memoized
from ..zeros import Zero, as_operand, as_result, aval_of, can_move, instantiate, laid_out_as
from .checks import check_no_tracers, check_results_are_arrays, tangent_aval_of
from .dual_trace import DualTrace, DualTracer, call_differentiated

if TYPE_CHECKING:
    from . import held_references
else:
    held_references = deferred(".held_references", milliseconds=20)

__all__ = ["JVPTrace", "JVPTracer", "jvp", "jvp_flat", "jvp_olympuspr"]


@register_tracer_type
class JVPTracer(DualTracer):
    """A value together with its tangent, which is never a symbolic zero."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"

    def cur_qdd(self) -> Any:
        """Returns the state of the primal's type; None for types without a state."""
        trace: Any = self._trace  # a `JVPTrace`, which defines `cur_qdd`
        return trace.cur_qdd(self)

    def type_state(self) -> Any:
        """Returns the state of the primal's type; None for types without a state."""
        return self.cur_qdd()


class JVPTrace(DualTrace):
    """Trace that computes results and tangents in the parent trace.

    Args:
      parent_trace: the parent trace.
      tag: an object that identifies the transformation; see `DualTrace`.
    """

    __slots__ = ()

    tracer = JVPTracer

    def __init__(self, parent_trace: Trace, tag: object) -> None:
        super().__init__(parent_trace, rule_trace=parent_trace, tag=tag)

    def cur_qdd(self, x: Any) -> Any:
        """Returns the state of the type of a value's primal; None for types without a state."""
        primal, _ = self.unpair(x)
        aval = aval_of(primal)
        if getattr(aval, "has_qdd", False) is not True:
            return None
        ask = getattr(primal, "cur_qdd", None)
        return aval.type_state(primal) if ask is None else ask()


# ---- the transformation ----


@api_boundary
def jvp(
    fun: Callable[..., Any], primals: PyTree, tangents: PyTree, has_aux: bool = False
) -> tuple[Any, ...]:
    """Computes a function and its directional derivative in one pass.

    Args:
      fun: the function to differentiate. Its arguments are arrays or pytrees of arrays.
      primals: a tuple or list of the arguments at which ``fun`` is differentiated.
      tangents: a tuple or list of the arguments' tangents, which together are the direction. They
        have the structure, shapes and dtypes of ``primals``, but the tangent of an integer argument
        has dtype ``float0``.
      has_aux: whether ``fun`` returns a pair of which only the first part is differentiated.

    Returns:
      ``(result, tangent)``, or ``(result, tangent, aux)`` if ``has_aux``.

    Raises:
      TypeError: primals and tangents differ in structure or dtype.
      ValueError: primals and tangents differ in shape.

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
    trace = JVPTrace(current.trace, object())
    refs: Any = None
    inputs = []
    for primal, tangent in zip(primal_leaves, tangent_leaves, strict=True):
        aval = aval_of(primal)
        if aval.is_ref:
            refs = refs or held_references.GivenRefs(trace)
            inputs.append(refs.input(primal, tangent))
        else:
            inputs.append(trace.pair(primal, _checked_tangent(aval, tangent)))
    result, aux = call_differentiated(trace, fun, pytrees.tree_unflatten(tree, inputs), has_aux)
    if refs is not None:
        refs.write_back()
    leaves, out_tree = pytrees.tree_flatten(result)
    pairs = [trace.unpair(leaf) for leaf in leaves]
    check_results_are_arrays(primal for primal, _ in pairs)
    primals_out = pytrees.tree_unflatten(out_tree, [primal for primal, _ in pairs])
    tangents_out = pytrees.tree_unflatten(
        out_tree, _tangents_for_user(pairs, primal_leaves, tangent_leaves)
    )
    return (primals_out, tangents_out, aux) if has_aux else (primals_out, tangents_out)


def _tangents_for_user(
    pairs: Sequence[tuple[Any, Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> list[Any]:
    """Returns the tangents of results. A result that is an argument has the user's tangent."""
    of_argument = {id(primal): tangent for primal, tangent in zip(primals, tangents, strict=True)}
    ids_of_tangents = set(map(id, tangents))
    found = []
    for primal, tangent in pairs:
        if of_argument.get(id(primal)) is tangent:
            found.append(as_result(tangent, (tangent,)))
        else:  # an operation, such as the sum of one number, may return its operand
            found.append(
                as_operand(tangent) if id(tangent) in ids_of_tangents else as_result(tangent)
            )
    return found


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


def jvp_flat(
    fun: Callable[..., Sequence[Any]], primals: Sequence[Any], tangents: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """Pushes tangents, which may be `Zero`, through a function of flat operands.

    Returns:
      The results and their tangents, which may be `Zero`.
    """
    trace = JVPTrace(current.trace, object())
    with set_current_trace(trace):
        results = fun(*map(trace.pair, primals, tangents))
    pairs = [trace.unpair(result) for result in results]
    trace.finished = True
    return [primal for primal, _ in pairs], [tangent for _, tangent in pairs]


# ---- programs ----


def jvp_olympuspr(
    closed: ClosedOlympuspr, nonzero_in: Sequence[bool], instantiate_out: Sequence[bool] | bool = ()
) -> tuple[ClosedOlympuspr, tuple[bool, ...]]:
    """Returns the program that pushes tangents through a program.

    Args:
      closed: the program.
      nonzero_in: for each input, whether it has a tangent.
      instantiate_out: for each result, whether to return its tangent even if it is zero; True for
        all results.

    Returns:
      The program, and for each result, whether it has a tangent. The program maps the inputs and
      their nonzero tangents to the results and their tangents.
    """
    instantiate = (
        (bool(instantiate_out),) * len(closed.out_avals)
        if isinstance(instantiate_out, bool)
        else tuple(instantiate_out) or (False,) * len(closed.out_avals)
    )
    return _jvp_olympuspr(closed, tuple(nonzero_in), instantiate)


@memoized
def _jvp_olympuspr(
    closed: ClosedOlympuspr, nonzero_in: tuple[bool, ...], instantiate_out: tuple[bool, ...]
) -> tuple[ClosedOlympuspr, tuple[bool, ...]]:
    count = len(nonzero_in)
    nonzero_out: tuple[bool, ...] = ()

    def pushed_forward(*operands: Any) -> list[Any]:
        nonlocal nonzero_out
        primals, tangents = operands[:count], iter(operands[count:])
        trace = JVPTrace(current.trace, object())
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
            for (primal, tangent), want in zip(pairs, instantiate_out, strict=True)
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
