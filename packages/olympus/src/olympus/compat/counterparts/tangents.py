# SPDX-License-Identifier: Apache-2.0
"""Symbolic zeros, derivative rules and backward passes, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus.interpreters import ad
from olympus_autodiff.forward.jvp import jvp_olympuspr as _jvp_olympuspr
from olympus_autodiff.reverse.transpose import transpose_program
from olympus_autodiff.zeros import SymbolicZero, Zero, add_tangents
from olympus_ir.programs.olympuspr import ClosedOlympuspr, Olympuspr
from olympus_ir.programs.primitives import Primitive
from olympus_ir.types.avals import get_aval

from .lists import partition_list

__all__ = [
    "backward_pass",
    "bilinear_transpose",
    "closed_backward_pass",
    "defjvp_zero",
    "jvp_olympuspr",
    "linear_transpose",
    "p2cz",
    "p2tz",
    "rearrange_binders",
    "replace_internal_symbolic_zeros",
    "replace_rule_output_symbolic_zeros",
    "standard_jvp",
    "standard_jvp2",
    "zero_jvp",
]


# ---- zeros ----


def p2tz(primal_value: Any) -> Zero:
    """Returns the symbolic zero that is the tangent of a constant."""
    return Zero.of(primal_value)


def p2cz(primal_value: Any) -> Zero:
    """Returns the symbolic zero that is the cotangent of a constant."""
    return Zero(get_aval(primal_value).to_ct_aval())


def replace_internal_symbolic_zeros(x: Any) -> Any:
    """Returns the zero that users' rules receive in place of an internal zero."""
    return SymbolicZero(x.aval) if type(x) is Zero else x


def replace_rule_output_symbolic_zeros(x: Any) -> Any:
    """Returns the internal zero in place of a zero that a user's rule returned."""
    return Zero(x.aval) if type(x) is SymbolicZero else x


# ---- forward rules ----


def zero_jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], **params: Any
) -> tuple[Any, Any]:
    """JVP rule of a primitive whose derivative is zero."""
    result = primitive.bind(*primals, **params)
    if primitive.multiple_results:
        return result, [Zero.of(value) for value in result]
    return result, Zero.of(result)


def defjvp_zero(primitive: Primitive) -> None:
    """Defines the JVP rule of a primitive whose derivative is zero."""

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        return zero_jvp(primitive, primals, tangents, **params)

    ad.primitive_jvps[primitive] = rule


def _sum_of_terms(result: Any, tangents: Sequence[Any], terms: Sequence[Any]) -> Any:
    total: Any = Zero.of(result)
    for term, tangent in zip(terms, tangents, strict=True):
        if term is not None and type(tangent) is not Zero:
            total = add_tangents(total, term(tangent))
    return total


def standard_jvp(
    jvprules: Sequence[Callable[..., Any] | None],
    primitive: Primitive,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    **params: Any,
) -> tuple[Any, Any]:
    """Applies the JVP rule that `defjvp` defines.

    Args:
      jvprules: for each operand None, or a function ``(tangent, *operands, **params)``.
      primitive: the primitive.
      primals: the operands.
      tangents: their tangents.
      **params: the parameters.

    Returns:
      The result and its tangent.
    """
    result = primitive.bind(*primals, **params)
    terms = [rule and (lambda t, rule=rule: rule(t, *primals, **params)) for rule in jvprules]
    return result, _sum_of_terms(result, tangents, terms)


def standard_jvp2(
    jvprules: Sequence[Callable[..., Any] | None],
    primitive: Primitive,
    primals: Sequence[Any],
    tangents: Sequence[Any],
    **params: Any,
) -> tuple[Any, Any]:
    """Applies the JVP rule that `defjvp2` defines; each function takes the result as well."""
    result = primitive.bind(*primals, **params)
    terms = [
        rule and (lambda t, rule=rule: rule(t, result, *primals, **params)) for rule in jvprules
    ]
    return result, _sum_of_terms(result, tangents, terms)


def jvp_olympuspr(
    jaxpr: ClosedOlympuspr, nonzeros: Sequence[bool], instantiate: bool | Sequence[bool]
) -> tuple[ClosedOlympuspr, list[bool]]:
    """Returns the JVP program of a program.

    Args:
      jaxpr: the program.
      nonzeros: for each input, whether it has a tangent.
      instantiate: for each result, or for all, whether to return a zero tangent as an array.

    Returns:
      The program, which maps the inputs and their tangents to the results and their tangents, and
      for each result, whether it has a tangent.
    """
    program, nonzero_out = _jvp_olympuspr(jaxpr, tuple(nonzeros), instantiate)
    return program, list(nonzero_out)


def rearrange_binders(
    jaxpr: ClosedOlympuspr,
    primals_in: Sequence[int],
    tangents_in: Sequence[int],
    primals_out: Sequence[int],
    tangents_out: Sequence[int],
) -> ClosedOlympuspr:
    """Moves the tangents of each group of inputs and results directly after its primals.

    Args:
      jaxpr: a program that takes and returns all primals before all tangents.
      primals_in: the numbers of primals in each group of inputs.
      tangents_in: the numbers of tangents in each group.
      primals_out: the numbers of primals in each group of results.
      tangents_out: the numbers of tangents in each group.
    """
    program = jaxpr.jaxpr
    return jaxpr.replace(
        jaxpr=program.replace(
            invars=_interleaved(program.invars, primals_in, tangents_in),
            outvars=_interleaved(program.outvars, primals_out, tangents_out),
        )
    )


def _interleaved(
    items: Sequence[Any], primals: Sequence[int], tangents: Sequence[int]
) -> list[Any]:
    first, second = 0, sum(primals)
    result = []
    for num_primals, num_tangents in zip(primals, tangents, strict=True):
        result += items[first : first + num_primals]
        result += items[second : second + num_tangents]
        first += num_primals
        second += num_tangents
    return result


# ---- backward rules ----


def linear_transpose(
    transpose_rule: Callable[..., Any], cotangent: Any, *args: Any, **kwargs: Any
) -> Any:
    """Applies the transposition rule that `deflinear` defines."""
    return (
        Zero(get_aval(args[0])) if type(cotangent) is Zero else transpose_rule(cotangent, **kwargs)
    )


def bilinear_transpose(
    lhs_rule: Callable[..., Any],
    rhs_rule: Callable[..., Any],
    cotangent: Any,
    x: Any,
    y: Any,
    **kwargs: Any,
) -> tuple[Any, Any]:
    """Applies the transposition rule that `defbilinear` defines.

    Args:
      lhs_rule: takes ``(cotangent, x, y)`` and returns the cotangent of ``x``.
      rhs_rule: takes the same and returns the cotangent of ``y``.
      cotangent: the cotangent of the result.
      x: the first operand.
      y: the second operand; exactly one of the operands is an `UndefinedPrimal`.
      **kwargs: the parameters.
    """
    if ad.is_undefined_primal(x):
        return (
            Zero(x.aval) if type(cotangent) is Zero else lhs_rule(cotangent, x, y, **kwargs)
        ), None
    return None, (Zero(y.aval) if type(cotangent) is Zero else rhs_rule(cotangent, x, y, **kwargs))


def backward_pass(
    jaxpr: Olympuspr,
    transform_stack: bool,
    consts: Sequence[Any],
    primals_in: Sequence[Any],
    cts_in: Sequence[Any],
) -> list[Any]:
    """Runs a program backward.

    Args:
      jaxpr: the program, linear in those of its inputs that are undefined.
      transform_stack: has no effect.
      consts: the values of the program's constants.
      primals_in: the values of the inputs; an `UndefinedPrimal` for each linear input.
      cts_in: the cotangents of the results; may be `Zero`.

    Returns:
      For each input its cotangent, which is `Zero` for inputs that are not linear.
    """
    linear = [ad.is_undefined_primal(primal) for primal in primals_in]
    known, _ = partition_list(linear, list(primals_in))
    found = iter(transpose_program(jaxpr, consts, linear, known, cts_in))
    return [
        next(found) if is_linear else p2cz(primal)
        for primal, is_linear in zip(primals_in, linear, strict=True)
    ]


def closed_backward_pass(
    jaxpr: ClosedOlympuspr,
    transform_stack: bool,
    primals_in: Sequence[Any],
    cotangents_in: Sequence[Any],
) -> list[Any]:
    """Runs a closed program backward; see `backward_pass`."""
    return backward_pass(jaxpr.jaxpr, transform_stack, jaxpr.consts, primals_in, cotangents_in)
