# SPDX-License-Identifier: Apache-2.0
"""Which parameters a printed equation shows: for most primitives all, in order of their names.

A primitive has its rule in the attribute ``print_rule``: a function `(equation, printer)` that
returns pairs of name and value, or a document for the whole equation.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from .. import lax
from ..diagnostics.source_info import function_name
from .olympuspr import Equation

if TYPE_CHECKING:
    from .printer import Printer

Parameters = list[tuple[str, Any]]


def hide(**defaults: Any) -> Callable[[Equation, Printer], Parameters]:
    """A rule that leaves out parameters that have these values.

    Example:
      >>> from olympus_ir import Primitive
      >>> root_p = Primitive("root")
      >>> root_p.print_rule = hide(degree=2)
    """

    def rule(equation: Equation, printer: Printer) -> Parameters:
        return [
            (name, value)
            for name, value in sorted(equation.params.items())
            if name not in defaults or value != defaults[name]
        ]

    return rule


for _primitive in (
    lax.cbrt_p,
    lax.cos_p,
    lax.exp_p,
    lax.exp2_p,
    lax.expm1_p,
    lax.log_p,
    lax.log1p_p,
    lax.logistic_p,
    lax.rsqrt_p,
    lax.sin_p,
    lax.sqrt_p,
    lax.tan_p,
    lax.tanh_p,
):
    _primitive.print_rule = hide(accuracy=None)
lax.mul_p.print_rule = hide(out_dtype=None)
lax.convert_element_type_p.print_rule = hide(sharding=None)


def _broadcast_in_dim(equation: Equation, printer: Printer) -> Parameters:
    # The shape and the layout are in the type of the result.
    params = equation.params
    shown = []
    if params["broadcast_dimensions"]:
        shown.append(("broadcast_dimensions", params["broadcast_dimensions"]))
    return shown


def _dot_general(equation: Equation, printer: Printer) -> Parameters:
    contracting, batch = equation.params["dimension_numbers"]
    shown = [
        (name, value)
        for name, value in sorted(equation.params.items())
        if value is not None and name not in ("dimension_numbers", "out_sharding")
    ]
    dimensions = (tuple(map(list, contracting)), tuple(map(list, batch)))
    return [("dimension_numbers", dimensions), *shown]


lax.broadcast_in_dim_p.print_rule = _broadcast_in_dim
lax.dot_general_p.print_rule = _dot_general


def _jit(equation: Equation, printer: Printer) -> Parameters:
    params = equation.params
    printer.adopt_names(params["jaxpr"].jaxpr, equation)
    shown = [("name", params["name"])]
    for name, value in sorted(params.items()):
        if name not in ("name", "ctx_mesh") and not _is_default(value):
            shown.append((name, value))
    return shown


def _is_default(value: Any) -> bool:
    """Whether a parameter of `jit` says nothing: not set, for none of the operands."""
    if isinstance(value, tuple):
        return all(item is None or item is False for item in value)
    return value is None or value is False


def _custom_jvp_call(equation: Equation, printer: Printer) -> Parameters:
    params = equation.params
    return [
        ("name", params["call_jaxpr"].debug_info.func_name),
        ("call_jaxpr", params["call_jaxpr"]),
        ("jvp", function_name(params["jvp_jaxpr_fun"])),
        ("symbolic_zeros", params["symbolic_zeros"]),
    ]


def _custom_vjp_call(equation: Equation, printer: Printer) -> Parameters:
    params = equation.params
    return [
        ("name", params["call_jaxpr"].debug_info.func_name),
        ("bwd", function_name(params["bwd"])),
        ("call_jaxpr", params["call_jaxpr"]),
        ("fwd", function_name(params["fwd_jaxpr_thunk"])),
        ("symbolic_zeros", params["symbolic_zeros"]),
    ]


lax.jit_p.print_rule = _jit
lax.custom_jvp_call_p.print_rule = _custom_jvp_call
lax.custom_vjp_call_p.print_rule = _custom_vjp_call
