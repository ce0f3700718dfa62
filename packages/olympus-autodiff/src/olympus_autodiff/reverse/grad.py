# SPDX-License-Identifier: Apache-2.0
"""Gradients: `grad` and `value_and_grad`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, ParamSpec, TypeVar

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.lax.core.values import as_array
from olympus_ir.programs.olympuspr import Equation
from olympus_ir.trees.flattening import function_name
from olympus_ir.trees.pickled_functions import travels
from olympus_ir.trees.wrapping import update_wrapper
from olympus_ir.types.annotations import AxisName

from ..forward.linearize import linearize_at
from ..forward.tangent_trace import TangentTrace
from ..zeros import Zero, aval_of, ones_like_aval
from .arguments import (
    Inputs,
    argument_numbers,
    check_enough,
    check_function,
    check_input,
    check_output,
    check_reduce_axes,
    check_scalar,
    function_of_chosen,
    listed_positions,
)
from .transpose import backward_pass

__all__ = ["grad", "value_and_grad"]

P = ParamSpec("P")
R = TypeVar("R")


@travels
def grad(
    fun: Callable[P, Any],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[AxisName] = (),
) -> Callable[P, Any]:
    """Returns a function that computes the gradient of ``fun``.

    Args:
      fun: a function whose result is a scalar: an array of shape (), of a float dtype.
      argnums: the positions of the arguments to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair; only the first part is differentiated.
      holomorphic: whether ``fun`` is assumed to be holomorphic; then arguments and result must be
        complex.
      allow_int: whether to allow integer arguments, whose gradients are zeros of dtype ``float0``.
      reduce_axes: deprecated; must be empty.

    Returns:
      A function with the arguments of ``fun`` that returns the gradient. The gradient has the
      structure of the chosen argument; if ``argnums`` is a sequence, it is a tuple with one
      gradient for each argument. With ``has_aux``, the function returns a pair of the gradient and
      the second part of the result.

    Raises:
      TypeError: on the call, the result is not a real scalar, or an argument to differentiate does
        not have a float (or complex) dtype.

    See Also:
      value_and_grad: also returns the value.
      vjp: for results that are not scalars.

    Example:
      >>> from olympus_ir import lax
      >>> grad(lax.tanh)(0.2)
      Array(0.961043, dtype=float32, weak_type=True)
    """
    both = _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)

    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, gradient = both(*args, **kwargs)
        return (gradient, value[1]) if has_aux else gradient

    grad_f = api_boundary(grad_f)
    _describe(grad_f, fun, "Gradient of {fun}", "the gradient", argnums)
    return grad_f


@travels
def value_and_grad(
    fun: Callable[P, R],
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[AxisName] = (),
) -> Callable[P, tuple[R, Any]]:
    """Returns a function that computes both the value of ``fun`` and its gradient.

    Args:
      fun: a function whose result is a scalar: an array of shape (), of a float dtype.
      argnums: the positions of the arguments to differentiate with respect to.
      has_aux: whether ``fun`` returns a pair; only the first part is differentiated.
      holomorphic: whether ``fun`` is assumed to be holomorphic; then arguments and result must be
        complex.
      allow_int: whether to allow integer arguments, whose gradients are zeros of dtype ``float0``.
      reduce_axes: deprecated; must be empty.

    Returns:
      A function with the arguments of ``fun`` that returns the pair of the value and the gradient,
      or ``((value, aux), gradient)`` with ``has_aux``. The gradient has the form that `grad`
      returns.

    Raises:
      TypeError: as for `grad`.

    Example:
      >>> from olympus_ir import lax
      >>> value_and_grad(lambda x: lax.mul(x, x))(3.0)
      (Array(9., dtype=float32, weak_type=True), Array(6., dtype=float32, weak_type=True))
    """
    value_and_grad_f = api_boundary(
        _value_and_grad(fun, argnums, has_aux, holomorphic, allow_int, reduce_axes)
    )
    _describe(
        value_and_grad_f,
        fun,
        "Value and gradient of {fun}",
        "a pair of its value and the gradient",
        argnums,
    )
    return value_and_grad_f


def _value_and_grad(
    fun: Callable[..., Any],
    argnums: int | Sequence[int],
    has_aux: bool,
    holomorphic: bool,
    allow_int: bool,
    reduce_axes: Sequence[Any],
) -> Callable[..., tuple[Any, Any]]:
    check_function(fun)
    check_reduce_axes("grad", reduce_axes)
    single = not isinstance(argnums, tuple | list)
    listed = listed_positions(argnums)
    positions: Any = listed[0] if single else listed

    def value_and_gradient(*args: Any, **kwargs: Any) -> tuple[Any, Any]:
        check_enough(positions, len(args))
        numbers = argument_numbers(positions, len(args))
        inputs = Inputs("grad", fun, numbers, args)

        def check(leaf: Any) -> None:
            check_input(leaf, holomorphic, allow_int, inputs)

        of_chosen = function_of_chosen(fun, numbers, args, kwargs)
        point = linearize_at(of_chosen, tuple([args[n] for n in numbers]), has_aux, check)
        check_scalar(point.result)
        value, tangent = point.trace.unpair(point.result)
        check_output(aval_of(value).dtype, holomorphic, "grad")
        gradients = point.as_arguments(_pull_back_one(point.trace.tangent_trace, value, tangent))
        gradient = gradients[0] if single else gradients
        return ((value, point.aux) if has_aux else value), gradient

    return value_and_gradient


def _pull_back_one(tangent_trace: TangentTrace, value: Any, tangent: Any) -> Sequence[Any]:
    """Pulls the cotangent 1 of a scalar result back, and returns the cotangents of all inputs."""
    if tangent.__class__ is Zero:
        return [Zero(var.aval) for var in tangent_trace.invars]
    one = ones_like_aval(aval_of(value))
    cotangents = backward_pass(
        _consumed(tangent_trace.equations),
        tangent_trace.invars,
        [tangent_trace.atom(tangent)],
        [one],
        named=True,
    )
    return [as_array(one) if cotangent is one else cotangent for cotangent in cotangents]


def _consumed(equations: list[Equation]) -> Iterator[Equation]:
    """Yields the equations from the last to the first, and frees each with its residuals."""
    while equations:
        yield equations.pop()


def _describe(
    wrapper: Any, fun: Callable[..., Any], summary: str, result: str, argnums: Any
) -> None:
    update_wrapper(wrapper, fun, updated=())
    name = function_name(fun)
    wrapper.__doc__ = (
        f"{summary.format(fun=name)} with respect to positional argument(s) {argnums}. Takes the "
        f"same arguments as {name} but returns {result}, which has the same shape as the arguments "
        f"at positions {argnums}."
    )
    if getattr(fun, "__doc__", None):
        wrapper.__doc__ += f"\n\nOriginal documentation:\n\n{fun.__doc__}"
