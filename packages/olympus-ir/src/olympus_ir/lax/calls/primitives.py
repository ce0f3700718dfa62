# SPDX-License-Identifier: Apache-2.0
"""Calls: primitives whose parameters hold the program of a function.

``jit`` calls a compiled function; ``closed_call`` calls a program that is evaluated in place;
``checkpoint`` calls a program whose intermediate values are recomputed for the backward pass;
``custom_jvp_call`` and ``custom_vjp_call`` call functions that have custom derivative rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...programs.evaluation import evaluator, olympuspr_as_fun
from ...programs.jit import jit_p
from ...programs.olympuspr import ClosedOlympuspr, Olympuspr
from ...programs.primitives import Primitive, add_to_instruction_set, instruction
from ...programs.tracing import Trace, closed_over, current, set_current_trace
from ...trees import pytrees
from ...types.annotations import PyTree
from ...types.avals import AbstractValue, get_aval

__all__ = [
    "checkpoint_p",
    "closed_call_p",
    "custom_jvp_call_p",
    "custom_vjp_call_p",
    "jit_p",
    "optimization_barrier",
    "optimization_barrier_p",
]


_PYTHON_SCALARS = frozenset({bool, int, float, complex})


def _as_arrays(operands: Sequence[Any]) -> Sequence[Any]:
    """Converts operands that are literals to arrays, because a user's rule expects arrays."""
    if not any(type(value) in _PYTHON_SCALARS for value in operands):
        return operands
    array = evaluator().array
    return [
        array(value, get_aval(value)) if type(value) in _PYTHON_SCALARS else value
        for value in operands
    ]


class CustomCall(Primitive):
    """A call of a function with custom derivative rules.

    `bind` takes either functions (``subfuns``) or an equation's parameters, which hold the programs
    of the functions.
    """

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._configure(multiple_results=True, family="calls", cache_inference=False)

    def bind(self, *args: Any, **params: Any) -> Sequence[Any]:
        return self.bind_with_trace(current.trace, args, params)

    def bind_with_trace(
        self, trace: Trace, args: Sequence[Any], params: Any, params_after_avals: Any = None, /
    ) -> Sequence[Any]:
        call_params = params if params_after_avals is None else params_after_avals
        if "subfuns" not in call_params:
            call_params = self.functions_of(call_params)
        with set_current_trace(trace):  # the functions run under this trace
            return self._call(trace, _as_arrays(args), **call_params)

    def bind_equation(self, operands: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:  # type: ignore[override]
        return self.bind_with_trace(current.trace, operands, params)

    def functions_of(self, params: dict[str, Any]) -> dict[str, Any]:
        """Returns parameters in which functions replace the programs of an equation."""
        raise NotImplementedError(f"{type(self).__name__} must define functions_of")

    def _call(
        self, trace: Trace, args: Sequence[Any], subfuns: Sequence[Any], **options: Any
    ) -> Sequence[Any]:
        """Calls the functions by the trace's rule for custom calls."""
        raise NotImplementedError(f"{type(self).__name__} must define _call")


class _CustomJVPCall(CustomCall):
    def functions_of(self, params: dict[str, Any]) -> dict[str, Any]:
        return {
            "subfuns": (olympuspr_as_fun(params["call_jaxpr"]), params["jvp_jaxpr_fun"]),
            "symbolic_zeros": params["symbolic_zeros"],
            **closed_over(params["num_consts"]),
        }

    def _call(
        self, trace: Trace, args: Sequence[Any], subfuns: Sequence[Any], **options: Any
    ) -> Sequence[Any]:
        fun, jvp = subfuns
        return trace.process_custom_jvp_call(self, fun, jvp, args, **options)


class _CustomVJPCall(CustomCall):
    def functions_of(self, params: dict[str, Any]) -> dict[str, Any]:
        fun = olympuspr_as_fun(params["call_jaxpr"])
        return {
            "subfuns": (fun, params["fwd_jaxpr_thunk"], params["bwd"]),
            "out_trees": params["out_trees"],
            "symbolic_zeros": params["symbolic_zeros"],
            **closed_over(params["num_consts"]),
        }

    def _call(
        self, trace: Trace, args: Sequence[Any], subfuns: Sequence[Any], **options: Any
    ) -> Sequence[Any]:
        fun, fwd, bwd = subfuns
        return trace.process_custom_vjp_call(self, fun, fwd, bwd, args, **options)


closed_call_p = instruction(
    "closed_call", multiple_results=True, family="calls", cache_inference=False
)
custom_jvp_call_p = add_to_instruction_set(_CustomJVPCall("custom_jvp_call"))
custom_vjp_call_p = add_to_instruction_set(_CustomVJPCall("custom_vjp_call"))
# Parameters: ``jaxpr``, an open program without constants; ``policy``, which decides whether the
# results of an equation are kept; ``prevent_cse``; ``differentiated``, set for the program of a
# backward pass.
checkpoint_p = instruction("remat2", multiple_results=True, family="calls", cache_inference=False)
# The parameter of a call that contains the called program.
PROGRAM_OF_CALL = {
    jit_p: "jaxpr",
    closed_call_p: "call_jaxpr",
    custom_jvp_call_p: "call_jaxpr",
    custom_vjp_call_p: "call_jaxpr",
    checkpoint_p: "jaxpr",
}
optimization_barrier_p = instruction("optimization_barrier", multiple_results=True, family="calls")
optimization_barrier_p.follows_memory = False

Types = tuple[list[AbstractValue], frozenset]


for _primitive in (
    closed_call_p,
    custom_jvp_call_p,
    custom_vjp_call_p,
    checkpoint_p,
    optimization_barrier_p,
):
    # The shape rule, not the operands alone, determines the mesh axes over which results vary.
    _primitive.spreads_varying = False


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


def optimization_barrier(operand: PyTree, /) -> PyTree:
    """Returns the operand. The compiler does not move operations across this barrier.

    Args:
      operand: an array or a pytree of arrays.

    Returns:
      The same values. No operation that uses one of the values starts before all values are
      computed.

    Example:
      >>> optimization_barrier((1.0, 2.0))
      (Array(1., dtype=float32, weak_type=True), Array(2., dtype=float32, weak_type=True))
    """
    leaves, tree = pytrees.tree_flatten(operand)
    return pytrees.tree_unflatten(tree, optimization_barrier_p.bind(*leaves))
