# SPDX-License-Identifier: Apache-2.0
"""Calls: primitives whose parameters hold the program of a function.

``jit`` calls a compiled function, ``closed_call`` a program that is run in place, and
``custom_jvp_call`` and ``custom_vjp_call`` functions that bring derivative rules of their own.
"""

from __future__ import annotations

from typing import Any

from ..avals import ShapedArray
from ..primitives import instruction
from ..tracing import current

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


def _program_types(program: Any) -> Any:
    return program.out_avals, program.effects


@jit_p.def_effectful_abstract_eval
def _jit_shape(*avals: ShapedArray, jaxpr: Any, **params: Any) -> Any:
    return _program_types(jaxpr)


@closed_call_p.def_effectful_abstract_eval
def _closed_call_shape(*avals: ShapedArray, call_jaxpr: Any, **params: Any) -> Any:
    return _program_types(call_jaxpr)


@custom_jvp_call_p.def_effectful_abstract_eval
def _custom_jvp_call_shape(*avals: ShapedArray, call_jaxpr: Any, **params: Any) -> Any:
    return _program_types(call_jaxpr)


@custom_vjp_call_p.def_effectful_abstract_eval
def _custom_vjp_call_shape(*avals: ShapedArray, call_jaxpr: Any, **params: Any) -> Any:
    return _program_types(call_jaxpr)


def _apply_custom_jvp_call(operands: Any, params: dict[str, Any]) -> Any:
    from ..evaluation import olympuspr_as_fun  # evaluation imports the primitives

    return current.trace.process_custom_jvp_call(
        custom_jvp_call_p,
        olympuspr_as_fun(params["call_jaxpr"]),
        params["jvp_jaxpr_fun"],
        operands,
        symbolic_zeros=params["symbolic_zeros"],
    )


def _apply_custom_vjp_call(operands: Any, params: dict[str, Any]) -> Any:
    from ..evaluation import olympuspr_as_fun  # evaluation imports the primitives

    return current.trace.process_custom_vjp_call(
        custom_vjp_call_p,
        olympuspr_as_fun(params["call_jaxpr"]),
        params["fwd_jaxpr_thunk"],
        params["bwd"],
        operands,
        out_trees=params["out_trees"],
        symbolic_zeros=params["symbolic_zeros"],
    )


custom_jvp_call_p.bind_equation = _apply_custom_jvp_call
custom_vjp_call_p.bind_equation = _apply_custom_vjp_call
