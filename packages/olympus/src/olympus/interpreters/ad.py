# SPDX-License-Identifier: Apache-2.0
"""Differentiation: the tables of rules, symbolic zeros, and functions that define rules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

from olympus_autodiff.forward.dual_trace import JVP as _JVP
from olympus_autodiff.forward.jvp import JVPTrace as JVPTrace
from olympus_autodiff.forward.jvp import JVPTracer as JVPTracer
from olympus_autodiff.forward.jvp import jvp_flat as _jvp_flat
from olympus_autodiff.tables import jvp_rules, transpose_rules
from olympus_autodiff.zeros import SymbolicZero as SymbolicZero
from olympus_autodiff.zeros import UndefinedPrimal as UndefinedPrimal
from olympus_autodiff.zeros import Zero as Zero
from olympus_autodiff.zeros import add_tangents as add_tangents
from olympus_autodiff.zeros import instantiate as instantiate_zeros
from olympus_autodiff.zeros import is_undefined_primal as is_undefined_primal
from olympus_autodiff.zeros import zeros_like_aval as zeros_like_aval
from olympus_ir.lax import add_any_p as add_olympusvals_p
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.tracing import transforming

from .. import _lazy
from ._flat_derivatives import linearize as linearize

# The first table maps a primitive to `rule(primals, tangents, **params)`, the second to
# `rule(cotangents, *operands, **params)`.
primitive_jvps = jvp_rules
primitive_transposes = transpose_rules

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})


def add_olympusvals(x: Any, y: Any) -> Any:
    """Adds two cotangents."""
    return add_olympusvals_p.bind(x, y)


def get_primitive_transpose(p: Primitive) -> Callable[..., Any]:
    """Returns the transposition rule of a primitive, or raises an error if there is none."""
    return transpose_rules[p]


def jvp(
    fun: Any,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    has_aux: bool = False,
    instantiate: bool | Sequence[bool] = True,
    transform_stack: bool = True,
) -> Any:
    """Evaluates a function of flat operands and its derivative.

    Args:
      fun: a wrapped function of flat operands.
      primals: the operands.
      tangents: their tangents.
      has_aux: whether the function also returns auxiliary data, which is not differentiated.
      instantiate: whether zero tangents become arrays.
      transform_stack: whether the name stacks of operations show the differentiation.

    Returns:
      The results, their tangents, and the auxiliary data.
    """
    call = getattr(fun, "call_wrapped", fun)
    aux = None

    def results_of(*operands: Any) -> Any:
        nonlocal aux
        if not has_aux:
            return call(*operands)
        results, aux = call(*operands)
        return results

    with transforming(_JVP) if transform_stack else nullcontext():
        results, results_tangents = _jvp_flat(results_of, primals, tangents)
    if isinstance(instantiate, bool):
        instantiate = [instantiate] * len(results)
    results_tangents = [
        instantiate_zeros(tangent) if wanted else tangent
        for tangent, wanted in zip(results_tangents, instantiate, strict=True)
    ]
    return (results, results_tangents, aux) if has_aux else (results, results_tangents)


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Defines a JVP rule as a sum of one term for each operand.

    Args:
      primitive: a primitive with one result.
      *jvprules: for each operand None, or a function ``(tangent, *operands, **params)``.
    """
    defjvp2(
        primitive,
        *[
            None
            if rule is None
            else lambda t, _, *primals, _rule=rule, **params: _rule(t, *primals, **params)
            for rule in jvprules
        ],
    )


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """Defines a JVP rule as `defjvp` does; each function receives the result after the tangent."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        result = primitive.bind(*primals, **params)
        total: Any = Zero.of(result)
        for term, tangent in zip(jvprules, tangents, strict=True):
            if term is not None and type(tangent) is not Zero:
                total = add_tangents(total, term(tangent, result, *primals, **params))
        return result, total

    primitive_jvps[primitive] = rule


def _deflinear_jvp(primitive: Primitive) -> None:
    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        results = primitive.bind(*primals, **params)
        if all(type(tangent) is Zero for tangent in tangents):
            if primitive.multiple_results:
                return results, [Zero.of(result) for result in results]
            return results, Zero.of(results)
        return results, primitive.bind(*map(instantiate_zeros, tangents), **params)

    primitive_jvps[primitive] = rule


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Defines the derivatives of a primitive that is jointly linear in its operands.

    Args:
      primitive: the primitive.
      transpose_rule: maps ``(cotangent, **params)`` to the operands' cotangents.
    """
    deflinear2(primitive, lambda cotangent, *_, **params: transpose_rule(cotangent, **params))


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """Defines derivatives as `deflinear` does, by a rule ``(cotangent, *operands, **params)``."""
    _deflinear_jvp(primitive)

    def rule(cotangents: Any, *operands: Any, **params: Any) -> Any:
        if type(cotangents) is Zero:
            return [
                Zero(operand.aval) if is_undefined_primal(operand) else None for operand in operands
            ]
        return transpose_rule(cotangents, *operands, **params)

    primitive_transposes[primitive] = rule


def defbilinear(
    prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]
) -> None:
    """Defines the derivatives of a primitive that is bilinear in its two operands.

    Args:
      prim: the primitive.
      lhs_rule: maps ``(cotangent, lhs, rhs, **params)`` to the first operand's cotangent.
      rhs_rule: maps ``(cotangent, lhs, rhs, **params)`` to the second operand's cotangent.
    """
    defjvp(
        prim,
        lambda t, x, y, **params: prim.bind(t, y, **params),
        lambda t, x, y, **params: prim.bind(x, t, **params),
    )

    def rule(cotangent: Any, x: Any, y: Any, **params: Any) -> Any:
        if is_undefined_primal(x) == is_undefined_primal(y):
            raise ValueError(f"`{prim.name}` is transposed in exactly one of its operands")
        if is_undefined_primal(x):
            if type(cotangent) is Zero:
                return Zero(x.aval), None
            return lhs_rule(cotangent, x, y, **params), None
        if type(cotangent) is Zero:
            return None, Zero(y.aval)
        return None, rhs_rule(cotangent, x, y, **params)

    primitive_transposes[prim] = rule
