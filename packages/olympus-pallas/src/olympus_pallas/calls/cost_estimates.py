# SPDX-License-Identifier: Apache-2.0
"""Cost estimates of functions from their olympusprs: `estimate_cost`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from olympus_ir import lax
from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.programs.olympuspr import Equation, Olympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction
from olympus_ir.types import dtypes
from olympus_ir.types.avals import ShapedArray, get_aval

from .pallas_call import CostEstimate, pallas_call_p

__all__ = ["estimate_cost"]

_ARITHMETIC = frozenset(
    """add add_any sub mul div min max neg floor ceil round not and or xor""".split()
)
_TRANSCENDENTAL = frozenset(
    """exp log logistic sqrt tanh sin cos tan sinh cosh asin acos atan""".split()
)


def estimate_cost(fun: Callable[..., Any], *args: Any, **kwargs: Any) -> CostEstimate:
    """Estimates the operations of a function, and the memory that it reads and writes.

    The estimate counts common elementwise operations (arithmetic, exponentials, trigonometric
    functions) and contractions, also inside of `jit`. It leaves out loops and conditionals,
    whose iterations and branches may depend on values.

    Args:
      fun: a function of arrays.
      *args: the arguments of a call, arrays or `ShapeDtypeStruct`s.
      **kwargs: the keyword arguments of the call, likewise arrays or `ShapeDtypeStruct`s.

    Returns:
      The `CostEstimate`.

    Example:
      >>> import numpy as np
      >>> x = np.ones((8, 4), np.float32)
      >>> estimate_cost(lambda x, y: lax.exp(lax.dot(x, y)), x, x.T)
      CostEstimate(flops=512, transcendentals=64, bytes_accessed=512, remote_bytes_transferred=0)
    """
    leaves, tree = pytrees.tree_flatten((args, kwargs))
    avals = [_aval(leaf) for leaf in leaves]
    program, _ = trace_to_olympuspr(
        FlatFunction(fun, tree), avals, DebugInfo.of("estimate_cost", fun)
    )
    flops, transcendentals = _operations(program)
    accessed = sum(map(_bytes, [*avals, *(atom.aval for atom in program.outvars)]))
    return CostEstimate(flops, transcendentals, accessed)


def _aval(leaf: Any) -> Any:
    if hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
        return ShapedArray(tuple(leaf.shape), leaf.dtype)
    return get_aval(leaf)


def _bytes(aval: Any) -> int:
    return math.prod(aval.shape) * dtypes.itemsize_bits(aval.dtype) // 8


def _operations(program: Olympuspr) -> tuple[int, int]:
    flops, transcendentals = 0, 0
    for equation in program.eqns:
        primitive = equation.primitive
        if primitive is lax.jit_p:
            more_flops, more_transcendentals = _operations(equation.params["jaxpr"].jaxpr)
        elif primitive is pallas_call_p and equation.params["cost_estimate"] is not None:
            estimate = equation.params["cost_estimate"]
            more_flops, more_transcendentals = estimate.flops, estimate.transcendentals
        else:
            more_flops, more_transcendentals = _of_equation(equation)
        flops += more_flops
        transcendentals += more_transcendentals
    return flops, transcendentals


def _of_equation(equation: Equation) -> tuple[int, int]:
    name = equation.primitive.name
    size = sum(math.prod(getattr(var.aval, "shape", ())) for var in equation.outvars)
    if name in _ARITHMETIC:
        return size, 0
    if name in _TRANSCENDENTAL:
        return 0, size
    if equation.primitive is lax.integer_pow_p:
        # Repeated squaring, and one product for each set bit after the first.
        power = abs(equation.params["y"])
        steps = power.bit_length() - 1 + power.bit_count() + (equation.params["y"] < 0)
        return (steps * size if power > 1 else 0), 0
    if equation.primitive is lax.dot_general_p:
        (contracting, _), _ = equation.params["dimension_numbers"]
        shape = equation.invars[0].aval.shape
        return 2 * size * math.prod(shape[dim] for dim in contracting), 0
    return 0, 0
