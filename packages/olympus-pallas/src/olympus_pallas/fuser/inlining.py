# SPDX-License-Identifier: Apache-2.0
"""Inlining of the calls in a program, which precedes fusion."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.lax.calls.primitives import PROGRAM_OF_CALL
from olympus_ir.programs.evaluation import bind_equation, run_equations
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation, Olympuspr, close_olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction
from olympus_ir.types.avals import ShapedArray, get_aval

__all__ = ["aval_of", "inlined", "run_program", "traced"]


def aval_of(value: Any) -> Any:
    """Returns the type of an array, or of a description of an array."""
    if hasattr(value, "shape") and hasattr(value, "dtype") and not hasattr(value, "aval"):
        return ShapedArray(tuple(value.shape), value.dtype)
    return get_aval(value)


def run_program(
    program: Olympuspr,
    consts: Sequence[Any],
    operands: Sequence[Any],
    rules: dict[Primitive, Callable[..., Any]] | None = None,
) -> list[Any]:
    """Evaluates a program and inlines its calls; a rule is `(equation, operands) -> results`."""

    def apply(equation: Equation, arguments: list[Any]) -> Sequence[Any]:
        rule = rules.get(equation.primitive) if rules else None
        if rule is not None:
            return rule(equation, arguments)
        parameter = PROGRAM_OF_CALL.get(equation.primitive)
        if parameter is None:
            return bind_equation(equation, arguments)
        inner = equation.params[parameter]
        inner = inner if isinstance(inner, ClosedOlympuspr) else close_olympuspr(inner)
        return run_program(inner.jaxpr, inner.consts, arguments, rules)

    return run_equations(program, consts, operands, apply)


def traced(
    function: Callable[..., Any], args: tuple, kwargs: dict[str, Any]
) -> tuple[Olympuspr, Sequence[Any], Any]:
    """Returns the program of a function, its constants, and the structure of its result."""
    leaves, tree = pytrees.tree_flatten((args, kwargs))
    flat = FlatFunction(function, tree)
    avals = [aval_of(leaf) for leaf in leaves]
    program, consts = trace_to_olympuspr(flat, avals, DebugInfo.of("fusion", function))
    return program, consts, flat.out_tree


def inlined(program: Olympuspr, consts: Sequence[Any] = ()) -> Olympuspr:
    """Returns the program with its constants as first inputs and its calls inlined."""
    count = len(program.constvars)

    def run(*operands: Any) -> list[Any]:
        return run_program(program, operands[:count], operands[count:])

    variables = [*program.constvars, *program.invars]
    tree = pytrees.tree_structure(((0,) * len(variables), {}))
    flat = FlatFunction(run, tree)
    avals = [var.aval for var in variables]
    whole, more = trace_to_olympuspr(flat, avals, program.debug_info)
    if more:
        shapes = [get_aval(const).str_short() for const in more]
        raise ValueError(f"a fusion cannot have arrays as constants, got {shapes}")
    return whole
