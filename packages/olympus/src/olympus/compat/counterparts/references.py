# SPDX-License-Identifier: Apache-2.0
"""Types and programs of references, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation
from olympus_ir.programs.primitives import Primitive
from olympus_ir.references.discharge import discharge_closed, discharge_rules
from olympus_ir.types.avals import ShapedArray, get_aval
from olympus_ir.types.references import AbstractRef

__all__ = [
    "discharge_state",
    "get_ref_aval_from_value",
    "register_discharge_rule",
    "shaped_array_ref",
]


def shaped_array_ref(shape: tuple[int, ...], dtype: Any, weak_type: bool = False) -> AbstractRef:
    """Returns the type of references to arrays of a shape and a dtype."""
    return AbstractRef(ShapedArray(shape, dtype, weak_type))


def get_ref_aval_from_value(x: Any) -> tuple[AbstractRef, Any]:
    """Returns the type of references that can hold a value, and the value."""
    return AbstractRef(get_aval(x)), x


def discharge_state(
    closed_jaxpr: ClosedOlympuspr,
    *,
    should_discharge: bool | Sequence[bool] = True,
    lower: bool = True,
) -> ClosedOlympuspr:
    """Converts a program with references to a program of arrays.

    Args:
      closed_jaxpr: the program.
      should_discharge: for each input, or for all, whether to discharge it if it is a reference.
      lower: has no effect; JAX uses it for values of high types.

    Returns:
      The program, which returns the final values of the references after its results.
    """
    return discharge_closed(closed_jaxpr, should_discharge).closed


def register_discharge_rule(
    prim: Primitive,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Returns a decorator that defines how a primitive is applied to the arrays of references.

    The rule takes the types of the operands and of the results, and the operands, in which arrays
    replace references. It returns the new arrays, with None for operands that are no references or
    are unchanged, and the results.
    """

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        def own(equation: Equation, operands: Sequence[Any]) -> tuple[Sequence[Any], Sequence[Any]]:
            in_avals = [atom.aval for atom in equation.invars]
            out_avals = [var.aval for var in equation.outvars]
            new_values, results = rule(in_avals, out_avals, *operands, **equation.params)
            return new_values, results if prim.multiple_results else [results]

        discharge_rules[prim] = own
        prim.takes_refs = True
        return rule

    return register
