# SPDX-License-Identifier: Apache-2.0
"""Calls: primitives whose parameters hold the program of a function.

``jit`` calls a compiled function, ``closed_call`` a program that is run in place, ``checkpoint`` a
program whose intermediate values are computed again for the backward pass, and ``custom_jvp_call``
and ``custom_vjp_call`` functions that bring derivative rules of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import pytrees
from ..avals import AbstractValue, get_aval
from ..evaluation import evaluator, olympuspr_as_fun
from ..olympuspr import ClosedOlympuspr, Olympuspr
from ..primitives import instruction
from ..tracing import current

__all__ = [
    "checkpoint_p",
    "closed_call_p",
    "custom_jvp_call_p",
    "custom_vjp_call_p",
    "jit_p",
    "optimization_barrier",
    "optimization_barrier_p",
]

jit_p = instruction("jit", multiple_results=True, family="calls", cache_inference=False)
closed_call_p = instruction(
    "closed_call", multiple_results=True, family="calls", cache_inference=False
)
custom_jvp_call_p = instruction(
    "custom_jvp_call", multiple_results=True, family="calls", cache_inference=False
)
custom_vjp_call_p = instruction(
    "custom_vjp_call", multiple_results=True, family="calls", cache_inference=False
)
# Parameters: ``jaxpr``, an open program without constants; ``policy``, which says of an equation
# whether its results are kept; ``prevent_cse``; ``differentiated``, set where the program is that
# of a backward pass.
checkpoint_p = instruction("remat2", multiple_results=True, family="calls", cache_inference=False)
optimization_barrier_p = instruction("optimization_barrier", multiple_results=True, family="calls")

Types = tuple[list[AbstractValue], frozenset]


for _primitive in (
    jit_p,
    closed_call_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    checkpoint_p,
    optimization_barrier_p,
):
    # The types of the results are those of the program.
    _primitive.spreads_varying = False


@jit_p.def_effectful_abstract_eval
def _jit_types(*avals: AbstractValue, jaxpr: ClosedOlympuspr, **params: Any) -> Types:
    return jaxpr.out_avals, jaxpr.effects


@closed_call_p.def_effectful_abstract_eval
def _closed_call_types(*avals: AbstractValue, call_jaxpr: ClosedOlympuspr, **params: Any) -> Types:
    return call_jaxpr.out_avals, call_jaxpr.effects


@custom_jvp_call_p.def_effectful_abstract_eval
def _custom_jvp_call_types(
    *avals: AbstractValue, call_jaxpr: ClosedOlympuspr, **params: Any
) -> Types:
    return call_jaxpr.out_avals, call_jaxpr.effects


@custom_vjp_call_p.def_effectful_abstract_eval
def _custom_vjp_call_types(
    *avals: AbstractValue, call_jaxpr: ClosedOlympuspr, **params: Any
) -> Types:
    return call_jaxpr.out_avals, call_jaxpr.effects


@checkpoint_p.def_effectful_abstract_eval
def _checkpoint_types(*avals: AbstractValue, jaxpr: Olympuspr, **params: Any) -> Types:
    return jaxpr.out_avals, jaxpr.effects


@optimization_barrier_p.def_abstract_eval
def _optimization_barrier_types(*avals: AbstractValue) -> Sequence[AbstractValue]:
    return avals


def optimization_barrier(operand: Any, /) -> Any:
    """Returns its operand, and keeps the compiler from moving operations across.

    Args:
      operand: an array or a pytree of arrays.

    Returns:
      The same values. Nothing that uses one of them is computed before all of them are.

    Example:
      >>> optimization_barrier((1.0, 2.0))
      (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    leaves, tree = pytrees.tree_flatten(operand)
    return pytrees.tree_unflatten(tree, optimization_barrier_p.bind(*leaves))


# ---- applying equations again ----


def _as_arrays(operands: Sequence[Any]) -> Sequence[Any]:
    """Operands for user's rules: a literal of the program is an array to them, as in the trace."""
    if not any(type(value) in _PYTHON_SCALARS for value in operands):
        return operands
    array = evaluator().array
    return [
        array(value, get_aval(value)) if type(value) in _PYTHON_SCALARS else value
        for value in operands
    ]


_PYTHON_SCALARS = frozenset({bool, int, float, complex})


def _apply_custom_jvp_call(operands: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    return current.trace.process_custom_jvp_call(
        custom_jvp_call_p,
        olympuspr_as_fun(params["call_jaxpr"]),
        params["jvp_jaxpr_fun"],
        _as_arrays(operands),
        symbolic_zeros=params["symbolic_zeros"],
        num_consts=params["num_consts"],
    )


def _apply_custom_vjp_call(operands: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    return current.trace.process_custom_vjp_call(
        custom_vjp_call_p,
        olympuspr_as_fun(params["call_jaxpr"]),
        params["fwd_jaxpr_thunk"],
        params["bwd"],
        _as_arrays(operands),
        out_trees=params["out_trees"],
        symbolic_zeros=params["symbolic_zeros"],
        num_consts=params["num_consts"],
    )


custom_jvp_call_p.bind_equation = _apply_custom_jvp_call
custom_vjp_call_p.bind_equation = _apply_custom_vjp_call
