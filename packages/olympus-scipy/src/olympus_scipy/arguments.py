# SPDX-License-Identifier: Apache-2.0
"""Preparation of operands: promotion to floats, checks for real values, elementwise decorators."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from olympus_autodiff import custom_jvp
from olympus_autodiff.strong_products import strong_product
from olympus_autodiff.zeros import SymbolicZero
from olympus_ir import lax
from olympus_ir.diagnostics.errors import ComplexOperandError
from olympus_ir.lax.core.values import dtype_of
from olympus_ir.settings import config_states
from olympus_ir.types import dtypes
from olympus_ir.types.arrays import Array
from olympus_ir.types.avals import get_aval
from olympus_numpy.core.compilation import outlined
from olympus_numpy.core.promotion import broadcasted, ensure_array, promote_args_inexact

__all__ = [
    "elementwise",
    "floats",
    "is_complex",
    "numbers",
    "reals",
    "reals_as_first",
    "refuse_complex",
    "strong",
    "strong_array",
    "with_derivatives",
]

F = TypeVar("F", bound=Callable[..., Any])


def is_complex(x: Any) -> bool:
    """Returns whether an operand has a complex dtype."""
    return dtypes.issubdtype(x.dtype, np.complexfloating)


def floats(name: str, *args: Any) -> list[Array]:
    """Returns the operands in their common floating or complex dtype, with compatible shapes."""
    operands = promote_args_inexact(name, *args)
    return [operand if hasattr(operand, "dtype") else ensure_array(operand) for operand in operands]


def refuse_complex(name: str, args: list[Any]) -> None:
    """Checks that no operand is complex.

    Raises:
      ComplexOperandError: an operand is complex.
    """
    for arg in args:
        dtype = dtype_of(arg)
        if dtypes.issubdtype(dtype, np.complexfloating):
            raise ComplexOperandError(
                f"{name} does not support complex-valued inputs, got {dtypes.name_of(dtype)}; take "
                "the real part with olympus.numpy.real."
            )


def reals(name: str, *args: Any) -> list[Array]:
    """Returns the operands in their common floating dtype, broadcast to a common shape.

    Raises:
      ComplexOperandError: an operand is complex.
    """
    promoted = floats(name, *args)
    refuse_complex(name, promoted)
    return broadcasted(name, *promoted) if len(promoted) > 1 else promoted


def strong(x: Any) -> Array:
    """Returns an array or number as an array that is not weakly typed."""
    return lax.convert_element_type(x, x.dtype) if get_aval(x).weak_type else x


def strong_array(x: Any, first: Any = None) -> Array:
    """Returns an array as one that is not weakly typed, and a scalar as it is.

    This is the type of a sum of ``x`` and a constant of the dtype of the first operand.

    Args:
      x: the array or scalar.
      first: the first operand, if it may have fewer dimensions than ``x``.
    """
    return strong(x) if (x if first is None else get_aval(first)).ndim else x


def reals_as_first(name: str, first: Any, *others: Any) -> list[Array]:
    """Returns the operands as `reals` does, with a strong type of a first array.

    With an array first, a result computed from all operands is strongly typed. A scalar becomes
    weakly typed beside Python floats, as in any promotion.

    Raises:
      ComplexOperandError: an operand is complex.
    """
    promoted, *rest = reals(name, first, *others)
    return [strong(promoted) if get_aval(first).ndim else promoted, *rest]


def numbers(name: str, *args: Any) -> list[Array]:
    """Returns the operands in their common floating or complex dtype and broadcast shape."""
    return broadcasted(name, *floats(name, *args))


def elementwise(name: str | None = None) -> Callable[[F], F]:
    """Returns a decorator that compiles an elementwise function of real numbers.

    The function is called with operands of one floating dtype and one shape.
    """

    def decorate(function: F) -> F:
        label = name or function.__name__

        def promoted(*args: Any) -> Any:
            return function(*reals(label, *args))

        return _like(promoted, function)

    return decorate


def _like(promoted: Callable[..., Any], function: Callable[..., Any]) -> Any:
    """Compiles ``promoted`` with the name, signature and docstring of ``function``."""
    promoted.__name__ = function.__name__
    promoted.__qualname__ = function.__qualname__
    promoted.__module__ = function.__module__
    promoted.__doc__ = function.__doc__
    promoted.__wrapped__ = function  # type: ignore[attr-defined]
    return outlined()(promoted)


def with_derivatives(*derivatives: Callable[..., Any] | None) -> Callable[[F], F]:
    """Returns a decorator that defines the partial derivatives of an elementwise function.

    Args:
      *derivatives: for each operand the partial derivative, a function of the result and the
        operands. None if the function is not smooth in the operand; the derivative is then zero.
    """

    def decorate(function: F) -> F:
        smooth: Any = custom_jvp(function)

        def jvp(operands: tuple, tangents: tuple) -> tuple[Any, Any]:
            result = smooth(*operands)
            terms = [
                _tangent(tangent, derivative(result, *operands))
                for tangent, derivative in zip(tangents, derivatives, strict=True)
                # A derivative may be a program of thousands of operations.
                if derivative is not None and not isinstance(tangent, SymbolicZero)
            ]
            return result, functools.reduce(lax.add, terms) if terms else lax.full_like(result, 0)

        smooth.defjvp(jvp, symbolic_zeros=True)
        return smooth

    return decorate


def _tangent(tangent: Any, factor: Any) -> Any:
    """Returns a tangent of the result, given one of an operand and the partial derivative."""
    return strong_product(tangent, factor) if config_states.strong_zeros.value else tangent * factor
