# SPDX-License-Identifier: Apache-2.0
"""Tables of derivative rules, and combinators that define most rules in one line.

Three tables define the derivatives of primitives:

- `jvp_rules`: ``rule(primals, tangents, **params) -> (result, tangent of the result)``, or a pair
  of lists if the primitive has several results. Tangents may be `Zero`, but at least one is not.
- `transpose_rules`: ``rule(cotangent, *operands, **params)`` returns one cotangent, or None, for
  each operand. The operands in which the equation is linear are `UndefinedPrimal`. If the primitive
  has several results, ``cotangent`` is a list. The cotangent of a result that was not used is
  `Zero`.
- `linearize_rules`, only for primitives with programs among their parameters:
  ``rule(trace, primals, tangents, **params) -> (results, tangents)`` evaluates the results in
  ``trace.parent`` and records the linear part in ``trace.tangent_trace``.

A fourth table, `recognition_rules`, recognizes functions of eigenvalues and singular values before
they are differentiated; see forward/recognition.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from olympus_ir import lax
from olympus_ir.programs.primitives import Primitive
from olympus_ir.programs.rules import RuleTable
from olympus_ir.types import dtypes

from .zeros import (
    UndefinedPrimal,
    Zero,
    add_tangents,
    aval_of,
    instantiate,
    scalar,
)

__all__ = [
    "DerivativeTable",
    "broadcast_to",
    "constant",
    "from_output",
    "jvp_rules",
    "linear",
    "linearize_rules",
    "number_like",
    "partials",
    "product_transpose",
    "recognition_rules",
    "transpose_rules",
    "unary_transpose",
    "unbroadcast",
    "zero_derivative",
]


class RuleFor:
    """A rule that needs its primitive. The table passes the primitive when the rule is defined."""

    __slots__ = ("make",)

    def __init__(self, make: Callable[[Primitive], Callable[..., Any]]) -> None:
        self.make = make


class DerivativeTable(RuleTable):
    """A rule table that also accepts combinators, to which it passes the primitive."""

    def define(self, primitive: Primitive, rule: Any = None, *, derived: str = "") -> Any:
        if rule.__class__ is RuleFor:
            rule = rule.make(primitive)
        return super().define(primitive, rule, derived=derived)


jvp_rules: DerivativeTable = DerivativeTable(
    "jvp",
    package="olympus_autodiff",
    missing="Differentiation rule for '{}' not implemented",
    expands=True,
)
transpose_rules: DerivativeTable = DerivativeTable(
    "transpose",
    package="olympus_autodiff",
    missing="Transpose rule (for reverse-mode differentiation) for '{}' not implemented",
)
linearize_rules: DerivativeTable = DerivativeTable("linearize", package="olympus_autodiff")
recognition_rules: RuleTable = RuleTable(
    "recognition", package="olympus_autodiff", folder="spectral"
)


def concerns_refs(primitive: Primitive, args: Sequence[Any]) -> bool:
    """Returns whether a primitive makes a reference or has a reference among its operands."""
    return primitive.family == "references" or any(
        getattr(type(arg), "is_ref", False) for arg in args
    )


# ---- values in rules ----


def constant(value: Any, like: Any) -> Any:
    """Returns a scalar constant with the dtype and weak type of another operand."""
    aval = aval_of(like)
    dtype = aval.dtype
    if aval.weak_type:
        kind = dtypes.scalar_type_of(dtype)
        if dtypes.python_scalar_dtype(kind) == dtype:
            return kind(value)
    return scalar(value, dtype)


def number_like(value: Any, like: Any) -> Any:
    """Returns a scalar of another operand's dtype, weakly typed if that operand is a weak scalar.

    An operation with this scalar keeps weak scalars weak, but makes weakly typed arrays strong.
    """
    aval = aval_of(like)
    return scalar(value, aval.dtype) if aval.shape else constant(value, like)


def shape_of(value: Any) -> tuple[int, ...]:
    return aval_of(value).shape


def broadcast_to(value: Any, shape: tuple[int, ...]) -> Any:
    """Broadcasts a scalar, or dimensions of size one, to a shape."""
    old_shape = aval_of(value).shape
    if old_shape == shape:
        return value
    return lax.broadcast_in_dim(value, shape, tuple(range(len(old_shape))))


def unbroadcast(cotangent: Any, operand: Any) -> Any:
    """Returns the cotangent of an operand, summed over the dimensions that were broadcast."""
    aval = operand.aval if operand.__class__ is UndefinedPrimal else aval_of(operand)
    shape = aval_of(cotangent).shape
    if aval.shape == shape:
        return cotangent
    if not aval.shape:
        return lax.reduce_sum(cotangent, tuple(range(len(shape))))
    spread = tuple(axis for axis, size in enumerate(aval.shape) if size == 1 and shape[axis] != 1)
    return lax.reshape(lax.reduce_sum(cotangent, spread), aval.shape)


# ---- combinators: tangents ----


def from_output(tangent: Callable[[Any, Any, Any], Any]) -> RuleFor:
    """Returns the jvp rule of a one-operand function. The tangent may use the result.

    Args:
      tangent: maps the operand's tangent, the result and the operand to the result's tangent.
    """

    def make(primitive: Primitive) -> Callable[..., Any]:
        bind = primitive.bind

        def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
            x = primals[0]
            y = bind(x, **params)
            return y, tangent(tangents[0], y, x)

        return rule

    return RuleFor(make)


def partials(*tangents: Callable[..., Any] | None) -> RuleFor:
    """Returns the jvp rule of an elementwise operation: a sum of one term for each operand.

    Args:
      *tangents: for each operand, a function that takes the operand's tangent, the result and all
        operands, and returns one term of the result's tangent; or None if the result is not
        differentiable with respect to the operand. Terms of scalar operands are broadcast to the
        result's shape.
    """

    def make(primitive: Primitive) -> Callable[..., Any]:
        bind = primitive.bind

        def rule(primals: Sequence[Any], moving: Sequence[Any], **params: Any) -> Any:
            y = bind(*primals, **params)
            total = None
            for term, t in zip(tangents, moving, strict=True):
                if t.__class__ is not Zero and term is not None:
                    contribution = term(t, y, *primals)
                    shape = aval_of(y).shape
                    if shape:
                        contribution = broadcast_to(contribution, shape)
                    total = contribution if total is None else add_tangents(total, contribution)
            return y, Zero.of(y) if total is None else total

        return rule

    return RuleFor(make)


def _linear(primitive: Primitive) -> Callable[..., Any]:
    bind = primitive.bind

    if primitive.multiple_results:

        def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
            return bind(*primals, **params), bind(*map(instantiate, tangents), **params)
    else:

        def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
            if len(tangents) == 1:
                return bind(primals[0], **params), bind(tangents[0], **params)
            return bind(*primals, **params), bind(*map(instantiate, tangents), **params)

    return rule


# : Jvp rule of operations that are jointly linear in all operands: applies the operation to
# tangents.
linear = RuleFor(_linear)


def _zero_derivative(primitive: Primitive) -> Callable[..., Any]:
    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> Any:
        y = primitive.bind(*primals, **params)
        if primitive.multiple_results:
            return y, [Zero.of(result) for result in y]
        return y, Zero.of(y)

    return rule


#: Jvp rule of operations that are constant almost everywhere or have results without tangents.
zero_derivative = RuleFor(_zero_derivative)


# ---- combinators: cotangents ----


def unary_transpose(cotangent_of_operand: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the transpose rule of an operation of one operand.

    Args:
      cotangent_of_operand: takes the result's cotangent, the operand's type and the parameters (as
        keywords), and returns the operand's cotangent.
    """

    def rule(cotangent: Any, operand: Any, **params: Any) -> list[Any]:
        return [cotangent_of_operand(cotangent, operand.aval, **params)]

    return rule


def product_transpose(
    first: Callable[..., Any], second: Callable[..., Any] | None
) -> Callable[..., Any]:
    """Returns the transpose rule of a bilinear operation.

    Args:
      first: maps the cotangent and both operands to the first operand's cotangent.
      second: maps the cotangent and both operands to the second operand's cotangent; None if the
        operation is not linear in the second operand.
    """

    def rule(cotangent: Any, x: Any, y: Any, **params: Any) -> list[Any]:
        if x.__class__ is UndefinedPrimal:
            if y.__class__ is UndefinedPrimal:
                raise ValueError(
                    "transposition of a product of two linear values: the function is not linear"
                )
            return [unbroadcast(first(cotangent, x, y, **params), x), None]
        if second is None:
            raise ValueError("transposition by the second operand: the function is not linear")
        return [None, unbroadcast(second(cotangent, x, y, **params), y)]

    return rule
