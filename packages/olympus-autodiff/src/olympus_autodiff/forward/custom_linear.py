# SPDX-License-Identifier: Apache-2.0
"""`custom_lin`: a linear function whose transpose is known but which cannot be evaluated.

A `custom_vjp` rule defines how cotangents are pulled back, but not how tangents are pushed forward.
The tangents are recorded as one application of this primitive, which can be transposed but not run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from olympus_ir.diagnostics.source_info import function_name
from olympus_ir.programs.expansion import expansion_rules
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.print_rules import Parameters, printing_rules
from olympus_ir.programs.staging import cast_to_varying
from olympus_ir.types.avals import AbstractValue

from ..tables import jvp_rules, transpose_rules
from ..zeros import SymbolicZero, Zero, as_operand, aval_of

if TYPE_CHECKING:
    from olympus_ir.programs.olympuspr import Equation
    from olympus_ir.programs.printer import Printer

__all__ = ["custom_lin_p", "forward_mode_error"]

# The operands are the residuals of the forward pass and the nonzero tangents. The parameters are:
#   bwd: maps flat residuals and cotangents to one cotangent for each argument.
#   num_res: the number of residuals.
#   in_zeros: for each argument, whether its tangent is zero and left out of the operands.
#   out_avals: the types of the results' tangents.
#   symbolic_zeros: whether ``bwd`` gets zero cotangents as symbolic zeros.
custom_lin_p = Primitive.declare("custom_lin", multiple_results=True, cache_inference=False)
custom_lin_p.linear_in = True
# The rule returns a cotangent that varies over the same mesh axes as the argument.
custom_lin_p.spreads_varying = False


@custom_lin_p.def_abstract_eval
def _custom_lin_types(
    *avals: AbstractValue, out_avals: Sequence[AbstractValue], **params: Any
) -> Sequence[AbstractValue]:
    return out_avals


@printing_rules.define(custom_lin_p)
def _custom_lin_parameters(equation: Equation, printer: Printer) -> Parameters:
    params = equation.params
    return [
        ("bwd", function_name(params["bwd"])),
        ("in_zeros", list(params["in_zeros"])),
        ("num_res", params["num_res"]),
        ("symbolic_zeros", params["symbolic_zeros"]),
    ]


def forward_mode_error() -> TypeError:
    return TypeError(
        "can't apply forward-mode autodiff (jvp) to a custom_vjp function: its rule defines how to "
        "pull back cotangents (grad, vjp, jacrev), not how to push forward tangents. Define the "
        "derivative with custom_jvp instead, which supports both modes."
    )


# Evaluation, lowering and batching all expand the primitive. The expansion raises an error.
@expansion_rules.define(custom_lin_p)
def _run_custom_lin(*operands: Any, **params: Any) -> Any:
    raise forward_mode_error()


@jvp_rules.define(custom_lin_p)
def _custom_lin_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
    raise forward_mode_error()


def _varying(cotangent: Any, aval: AbstractValue) -> Any:
    """Casts a cotangent, which may be a constant, to vary over the mesh axes of the result."""
    varying = getattr(aval, "vma", frozenset())
    missing = varying - aval_of(cotangent).vma if varying else varying
    return cast_to_varying(cotangent, tuple(missing)) if missing else cotangent


@transpose_rules.define(custom_lin_p)
def _custom_lin_transpose(
    cotangents: Sequence[Any],
    *operands: Any,
    num_res: int,
    bwd: Callable[..., Sequence[Any]],
    in_zeros: Sequence[bool],
    out_avals: Sequence[AbstractValue],
    symbolic_zeros: bool,
) -> list[Any]:
    if symbolic_zeros:
        cotangents_of_results = [
            SymbolicZero(ct.aval) if ct.__class__ is Zero else _varying(as_operand(ct), aval)
            for ct, aval in zip(cotangents, out_avals, strict=True)
        ]
    else:
        cotangents_of_results = [
            _varying(as_operand(ct), aval) for ct, aval in zip(cotangents, out_avals, strict=True)
        ]
    results = bwd(*operands[:num_res], *cotangents_of_results)
    kept = [
        None if result.__class__ in (Zero, SymbolicZero) else result
        for result, zero in zip(results, in_zeros, strict=True)
        if not zero
    ]
    return [None] * num_res + kept
