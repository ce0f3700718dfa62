# SPDX-License-Identifier: Apache-2.0
"""Interpreter of programs on sparse arrays, with a rule for each primitive.

Values are dense arrays, BCOO arrays or BCSR arrays. Equations whose operands are all dense are
applied as they are. A rule is a function ``(*operands, **params)`` that returns one result, or a
list if the primitive has several results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.evaluation import bind_equation, run_equations
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Equation
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.programs.tracing import current, evaluation_trace, find_tracers, set_current_trace
from olympus_ir.types.avals import ShapedArray, get_aval

from ..bcoo.array import BCOO
from ..bcsr.array import BCSR

__all__ = ["SPARSE_TYPES", "apply", "is_sparse", "run", "run_function", "sparse_rules"]

SPARSE_TYPES = (BCOO, BCSR)

sparse_rules: RuleTable[Callable[..., Any]] = RuleTable(
    "sparse", package="olympus_sparse", folder="sparsification"
)


def is_sparse(value: Any) -> bool:
    """Returns whether a value is a sparse array of a type that the interpreter supports."""
    return isinstance(value, SPARSE_TYPES)


# These primitives do not map zero to zero.
_DENSE_RESULTS = frozenset(
    "acos acosh bessel_i0e cos cosh eq erfc exp exp2 ge gt is_finite le lgamma log logistic lt ne "
    "not rsqrt digamma".split()
)


def _missing(primitive: Primitive) -> NotImplementedError:
    message = f"sparse rule for {primitive.name} is not implemented"
    if primitive.name in _DENSE_RESULTS:
        message += (
            " because it would result in dense output. If this is your intent, use "
            "sparse.todense() to convert your arguments to dense matrices"
        )
    return NotImplementedError(f"{message}.")


def apply(primitive: Primitive, operands: Sequence[Any], params: dict[str, Any]) -> Sequence[Any]:
    """Applies a primitive to operands, some of them sparse; returns a list of results."""
    rule = sparse_rules.get(primitive)
    if rule is None:
        raise _missing(primitive)
    results = rule(*operands, **params)
    return results if primitive.multiple_results else [results]


def run(closed: ClosedOlympuspr, args: Sequence[Any]) -> list[Any]:
    """Runs a program on dense and sparse arrays.

    Args:
      closed: the program, which was traced with dense arrays.
      args: the operands of the program, some of which may be sparse.

    Returns:
      The results.

    Raises:
      NotImplementedError: a primitive has no rule for sparse operands.
    """
    return run_equations(closed.jaxpr, closed.consts, args, _step)


def _step(equation: Equation, operands: Sequence[Any]) -> Sequence[Any]:
    if any(map(is_sparse, operands)):
        return apply(equation.primitive, operands, equation.params)
    if not equation.effects and all(var.aval.size == 1 for var in equation.outvars):
        # Known scalars stay concrete, because rules may ask whether they are zero.
        if current.trace is not evaluation_trace and not find_tracers(operands):
            with set_current_trace(evaluation_trace):
                return bind_equation(equation, operands)
    return bind_equation(equation, operands)


def run_function(flat: Callable[..., Sequence[Any]], values: Sequence[Any]) -> list[Any]:
    """Traces a function of dense arrays to a program, and runs it on dense and sparse arrays.

    Args:
      flat: a function from arrays to a sequence of arrays.
      values: the arguments of the function, some of which may be sparse.

    Returns:
      The results.
    """
    avals = [_dense_aval(value) for value in values]
    return run(trace_to_closed(flat, avals, DebugInfo.of("sparsify", flat)), values)


def _dense_aval(value: Any) -> Any:
    return ShapedArray(value.shape, value.dtype) if is_sparse(value) else get_aval(value)
