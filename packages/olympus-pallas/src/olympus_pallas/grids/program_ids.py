# SPDX-License-Identifier: Apache-2.0
"""Indices of the running program: `program_id` and `num_programs`.

While a kernel is traced, both functions record primitives with the axis as parameter. Lowering
replaces the primitives by values. The interpreter replaces the primitives by inputs of the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from olympus_ir import lax
from olympus_ir.lax.calls.primitives import PROGRAM_OF_CALL
from olympus_ir.lax.control_flow.operands import WhileLayout, WhileOperands
from olympus_ir.programs.evaluation import bind_equation, run_equations
from olympus_ir.programs.olympuspr import (
    ClosedOlympuspr,
    Equation,
    Olympuspr,
    close_olympuspr,
    olympusprs_in_params,
)
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import ShapedArray
from olympus_ir.types.effects import NamedAxisEffect

from .current_grid import inside_grid, state
from .grid_mappings import INDEX_DTYPE, dynamic_grid_dim
from .sizes import is_symbolic

__all__ = [
    "inside_grid",
    "num_programs",
    "num_programs_p",
    "program_id",
    "program_id_p",
    "with_places_as_inputs",
    "with_program_ids",
]

program_id_p = Primitive("program_id")
num_programs_p = Primitive("num_programs")


@program_id_p.def_abstract_eval
def _program_id_type(*, axis: int) -> ShapedArray:
    return ShapedArray((), INDEX_DTYPE)


@num_programs_p.def_abstract_eval
def _num_programs_type(*, axis: int) -> ShapedArray:
    return ShapedArray((), INDEX_DTYPE)


def _grid_with_axis(function: str, axis: int) -> tuple[tuple[Any, ...], int]:
    grid = state.grid
    if grid is None:
        raise RuntimeError(
            f"{function} was called outside of a kernel. It has a value only in functions that "
            "pallas_call runs over a grid."
        )
    if not -len(grid) <= axis < len(grid):
        raise ValueError(f"Axis {axis} is out of bounds for grid {grid}")
    return grid, axis % len(grid)


def program_id(axis: int) -> Array:
    """Returns the index of the running program along an axis of the grid.

    Args:
      axis: the axis.

    Returns:
      A 32-bit integer, from 0 to below ``num_programs(axis)``.

    Example:
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import pallas_call
      >>> def kernel(o_ref):
      ...     o_ref[program_id(0)] = program_id(0)
      >>> pallas_call(kernel, ShapeDtypeStruct((4,), "int32"), grid=(4,), interpret=True)()
      Array([0, 1, 2, 3], dtype=int32)
    """
    _, axis = _grid_with_axis("program_id", axis)
    if state.place is not None:
        return state.place[axis]
    return program_id_p.bind(axis=axis)


def num_programs(axis: int) -> int | Array:
    """Returns the number of programs along an axis of the grid.

    Args:
      axis: the axis.

    Returns:
      A Python integer if the size of the grid is known, else a 32-bit integer array.

    Example:
      >>> from olympus_ir import ShapeDtypeStruct
      >>> from olympus_pallas import pallas_call
      >>> def kernel(o_ref):
      ...     o_ref[...] = num_programs(0) - 1
      >>> pallas_call(kernel, ShapeDtypeStruct((), "int32"), grid=(4,), interpret=True)()
      Array(3, dtype=int32)
    """
    grid, axis = _grid_with_axis("num_programs", axis)
    size = grid[axis]
    return num_programs_p.bind(axis=axis) if size is dynamic_grid_dim else size


# ---- named axes ----


def with_program_ids(program: Olympuspr, names: Sequence[Any]) -> Olympuspr:
    """Returns the program with `program_id` in place of `axis_index` of named axes.

    Args:
      program: a kernel in which ``lax.axis_index(name)`` may stand for ``program_id(axis)``.
      names: the names of the axes of the kernel's grid.
    """
    grid_effects = frozenset(map(NamedAxisEffect, names))
    if not grid_effects & program.effects:
        return program
    return program.replace(
        eqns=[_by_number(equation, names, grid_effects) for equation in program.eqns],
        effects=program.effects - grid_effects,
    )


def _by_number(equation: Equation, names: Sequence[Any], own: frozenset) -> Equation:
    if not own & equation.effects:
        return equation
    effects = equation.effects - own
    if equation.primitive is lax.axis_index_p:
        params: dict[str, Any] = {"axis": names.index(equation.params["axis_name"])}
        return equation.replace(primitive=program_id_p, params=params, effects=effects)

    def renamed(value: Any) -> Any:
        if isinstance(value, tuple | list):
            return type(value)(map(renamed, value)) if not hasattr(value, "_fields") else value
        if isinstance(value, ClosedOlympuspr):
            return ClosedOlympuspr(with_program_ids(value.jaxpr, names), value.consts)
        return with_program_ids(value, names) if isinstance(value, Olympuspr) else value

    params = {name: renamed(value) for name, value in equation.params.items()}
    return equation.replace(params=params, effects=effects)


# ---- as inputs ----


def asks_for_place(program: Olympuspr) -> bool:
    """Returns whether a program, or a nested program, reads an index or size of the grid."""
    return any(
        equation.primitive in (program_id_p, num_programs_p)
        or any(map(asks_for_place, olympusprs_in_params(equation.params)))
        for equation in program.eqns
    )


def with_places_as_inputs(program: ClosedOlympuspr, rank: int) -> ClosedOlympuspr:
    """Returns the program with the grid indices and the grid's sizes as its first inputs.

    Args:
      program: the program.
      rank: the number of grid axes; the new inputs are ``2 * rank`` 32-bit integers.
    """
    index = ShapedArray((), INDEX_DTYPE)

    def run(*operands: Any) -> list[Any]:
        places = operands[: 2 * rank]
        return _evaluate(program, places, operands[2 * rank :])

    return trace_to_closed(run, [index] * (2 * rank) + program.in_avals, program.debug_info)


def _evaluate(
    program: ClosedOlympuspr, places: Sequence[Any], operands: Sequence[Any]
) -> list[Any]:
    def apply(equation: Equation, arguments: list[Any]) -> Sequence[Any]:
        return _apply(equation, places, arguments)

    return run_equations(program.jaxpr, program.consts, operands, apply)


def _apply(equation: Equation, places: Sequence[Any], operands: Sequence[Any]) -> Sequence[Any]:
    primitive = equation.primitive
    if primitive is program_id_p:
        return [places[equation.params["axis"]]]
    if primitive is num_programs_p:
        return [places[len(places) // 2 + equation.params["axis"]]]
    if any(map(asks_for_place, olympusprs_in_params(equation.params))):
        rule = _rules.get(primitive)
        if rule is None:
            raise ValueError(
                f"program_id was used inside of `{primitive.name}`, where it cannot be "
                "interpreted; call it outside and pass the number on."
            )
        return rule(places, operands, **equation.params)
    return bind_equation(equation, operands)


def _closed(program: Any) -> ClosedOlympuspr:
    return program if isinstance(program, ClosedOlympuspr) else close_olympuspr(program)


def _in_place(parameter: str) -> Callable[..., Any]:
    """Returns the rule that inlines a call; ``parameter`` names the program of the call."""

    def rule(places: Sequence[Any], operands: Sequence[Any], **params: Any) -> list[Any]:
        return _evaluate(_closed(params[parameter]), places, operands)

    return rule


def _cond(places: Sequence[Any], operands: Any, *, branches: Any, **params: Any) -> Any:
    branches = tuple(with_places_as_inputs(branch, len(places) // 2) for branch in branches)
    index, *rest = operands
    return lax.cond_p.bind(index, *places, *rest, branches=branches, **params)


def _scan(places: Sequence[Any], operands: Any, *, jaxpr: Any, num_consts: int, **params: Any):
    params = dict(params)
    if "linear" in params:
        params["linear"] = (False,) * len(places) + tuple(params["linear"])
    return lax.scan_p.bind(
        *places,
        *operands,
        jaxpr=with_places_as_inputs(jaxpr, len(places) // 2),
        num_consts=num_consts + len(places),
        **params,
    )


def _while(
    places: Sequence[Any],
    operands: Any,
    *,
    cond_jaxpr: Any,
    cond_nconsts: int,
    body_jaxpr: Any,
    body_nconsts: int,
    **params: Any,
) -> Any:
    rank = len(places) // 2
    values = WhileLayout(cond_nconsts, body_nconsts).operands(operands)
    inputs = WhileOperands(
        [*places, *values.cond_consts], [*places, *values.body_consts], values.carry
    )
    return lax.while_p.bind(
        *inputs.flat,
        cond_jaxpr=with_places_as_inputs(cond_jaxpr, rank),
        body_jaxpr=with_places_as_inputs(body_jaxpr, rank),
        **inputs.layout.params,
        **params,
    )


# Maps a primitive with nested programs to its rule, `rule(places, operands, **params)`. The places
# are the indices of the running program in the grid.
_rules: dict[Primitive, Callable[..., Any]] = {
    **{call: _in_place(parameter) for call, parameter in PROGRAM_OF_CALL.items()},
    lax.cond_p: _cond,
    lax.scan_p: _scan,
    lax.while_p: _while,
}


def define_place_rule(primitive: Primitive, rule: Callable[..., Any]) -> None:
    """Registers the function that binds a primitive whose nested programs read grid indices."""
    _rules[primitive] = rule


def as_index(value: Any) -> Any:
    """Converts an integer, a symbolic dimension or an integer array to a 32-bit integer array."""
    if isinstance(value, int):
        return np.asarray(value, INDEX_DTYPE)
    if is_symbolic(value):
        value = value.dimension_as_value()
    return value if value.dtype == INDEX_DTYPE else lax.convert_element_type(value, INDEX_DTYPE)
