# SPDX-License-Identifier: Apache-2.0
"""Tracing of the binary functions that reductions apply to elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..._jaxlib import config_trace_context
from ...programs.olympuspr import ClosedOlympuspr
from ...programs.staging import trace_to_closed
from ...programs.tracing import Tracer, current
from ...trees import pytrees
from ...trees.flattening import FlatFunction, debug_info_of_tree
from ...trees.function_caches import FunctionCache
from ...types.avals import ShapedArray, typematch
from .values import array_aval

__all__ = ["traced_function", "traced_reduction"]

_programs = FunctionCache()


def traced_function(
    name: str, fun: Callable[..., Any], avals: Sequence[ShapedArray], in_tree: Any
) -> tuple[ClosedOlympuspr, Any]:
    """Traces a function of scalars, once for each combination of types.

    Args:
      name: the operation that takes the function, for error messages.
      fun: the function.
      avals: the types of the arguments' leaves.
      in_tree: the structure of the positional and keyword arguments.

    Returns:
      The program, and the structure of the function's result.

    Raises:
      NotImplementedError: if the function closes over a traced value.
    """
    known = _programs.of(fun)
    key = (name, tuple(avals), in_tree, current.axes, config_trace_context())
    found = known.get(key)
    if found is not None:
        return found
    flat = FlatFunction(fun, in_tree)
    closed = trace_to_closed(flat, avals, debug_info_of_tree(name, fun, in_tree))
    if any(isinstance(constant, Tracer) for constant in closed.consts):
        raise NotImplementedError(
            f"the function given to lax.{name} closes over a traced value, which the compiler does "
            "not allow; pass the value as an operand."
        )
    known[key] = closed, flat.out_tree
    return known[key]


def traced_reduction(
    name: str, computation: Callable[..., Any], operands: Any, init_values: Sequence[Any]
) -> ClosedOlympuspr:
    """Traces the binary function of a reduction, on elements or pytrees of elements.

    Args:
      name: the operation, for error messages.
      computation: the function.
      operands: the arrays, in the structure that the function takes.
      init_values: the neutral elements, flat.

    Raises:
      ValueError: if the structures of argument and result differ.
      TypeError: if the types of argument and result differ.
    """
    leaves, tree = pytrees.tree_flatten(operands)
    avals = []
    for operand, init_value in zip(leaves, init_values, strict=True):
        aval = array_aval(operand)
        weak_type = aval.weak_type and array_aval(init_value).weak_type
        avals.append(ShapedArray((), aval.dtype, weak_type))
    in_tree = pytrees.tree_structure(((operands, operands), {}))
    closed, out_tree = traced_function(name, computation, [*avals, *avals], in_tree)
    if out_tree != tree:
        raise ValueError(
            f"{name} output must have the same tree structure as the operands {tree} vs. {out_tree}"
        )
    returned = closed.out_avals
    if not all(map(typematch, returned, avals)):
        raise TypeError(
            f"the function given to lax.{name} must return values of the types of its arguments, "
            f"{[aval.str_short() for aval in avals]}, got {[aval.str_short() for aval in returned]}"
        )
    return closed
