# SPDX-License-Identifier: Apache-2.0
"""`custom_gradient`, and `closure_convert`, which turns closed-over values into arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.programs.evaluation import eval_olympuspr
from olympus_ir.programs.olympuspr import Literal, Olympuspr
from olympus_ir.programs.staging import trace_to_olympuspr
from olympus_ir.programs.tracing import Tracer
from olympus_ir.trees import pytrees
from olympus_ir.trees.flattening import FlatFunction, debug_info_of_tree
from olympus_ir.trees.pickled_functions import NamedFunction
from olympus_ir.trees.wrapping import update_wrapper, wraps
from olympus_ir.types import dtypes
from olympus_ir.types.annotations import PyTree
from olympus_ir.types.typed_scalars import typed

from ..zeros import aval_of
from .calling import name_of, positional_arguments
from .custom_vjp import custom_vjp

__all__ = ["closure_convert", "custom_gradient"]


class _TracedClosure:
    """A traced function of pytrees whose first argument holds its closed-over values."""

    __slots__ = ("in_tree", "olympuspr", "out_tree")

    def __init__(self, olympuspr: Olympuspr, in_tree: Any, out_tree: Any) -> None:
        self.olympuspr = olympuspr
        self.in_tree = in_tree
        self.out_tree = out_tree

    def __call__(self, closed_over: Any, *args: Any) -> Any:
        leaves, tree = pytrees.tree_flatten((args, {}))
        if tree != self.in_tree:
            raise TypeError(
                "The inputs to the closure must have the same Pytree structure as the example "
                f"arguments that it was made with. Expected {self.in_tree}, but got {tree}"
            )
        program = self.olympuspr
        results = [
            typed(result) if atom.__class__ is Literal else result
            for atom, result in zip(
                program.outvars, eval_olympuspr(program, closed_over, *leaves), strict=True
            )
        ]
        return pytrees.tree_unflatten(self.out_tree, results)


def _trace_closure(
    fun: Callable[..., Any], args: tuple, traced_for: str
) -> tuple[_TracedClosure, list[Any]]:
    """Returns the function with closed-over values as explicit inputs, and these values."""
    leaves, tree = pytrees.tree_flatten((args, {}))
    flat = FlatFunction(fun, tree)
    info = debug_info_of_tree(traced_for, fun, tree)
    avals = [leaf.aval if hasattr(leaf, "aval") else aval_of(leaf) for leaf in leaves]
    olympuspr, consts = trace_to_olympuspr(flat, avals, info)
    return _TracedClosure(olympuspr, tree, flat.out_tree), list(map(typed, consts))


@api_boundary
def custom_gradient(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Wraps a function that returns its backward pass together with its result.

    Args:
      fun: returns a pair of its result and a backward function. The backward function maps the
        result's cotangent to a tuple of the arguments' cotangents, or to a single cotangent if
        there is one argument. The backward function may close over values of the forward pass.

    Returns:
      A function that returns the result alone.

    Raises:
      TypeError: ``fun`` is not a function.

    See Also:
      custom_vjp: takes the forward and the backward pass as two functions.

    Example:
      >>> from olympus_ir import lax
      >>> @custom_gradient
      ... def f(x):
      ...     return lax.mul(x, x), lambda ct: lax.mul(ct, x)
      >>> from olympus_autodiff import grad
      >>> grad(f)(3.0)
      Array(3., dtype=float32, weak_type=True)
    """

    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r} of type {type(fun).__name__}")

    @wraps(fun)
    @api_boundary
    def with_gradient(*args: Any, **kwargs: Any) -> Any:
        arguments = positional_arguments(fun, args, kwargs) if kwargs else args
        return wrapped(*arguments)

    def primal(*args: Any) -> Any:
        result, _ = _checked_pair(fun, fun(*args))
        return result

    def forward(*args: Any) -> tuple[Any, Any]:
        result, rule = _checked_pair(fun, fun(*args))
        cotangents = pytrees.tree_map(lambda leaf: _Typed(aval_of(leaf).to_tangent_aval()), result)
        closure, closed_over = _trace_closure(rule, (cotangents,), "custom_gradient")
        # `backward` needs only the number of arguments. Zeros stand for the arguments, whose memory
        # is not kept until the backward pass.
        return result, (pytrees.Partial(closure, closed_over), (0,) * len(args))

    def backward(residuals: Any, cotangent: Any) -> Any:
        rule, placeholders = residuals
        returned = rule(cotangent)
        if len(placeholders) == 1 and not (isinstance(returned, tuple) and len(returned) == 1):
            returned = (returned,)
        return returned

    update_wrapper(primal, fun)
    wrapped = custom_vjp(primal)
    wrapped.defvjp(forward, backward)
    return with_gradient


class _Typed:
    """Placeholder that carries only the type of an array."""

    __slots__ = ("aval",)

    def __init__(self, aval: Any) -> None:
        self.aval = aval


def _checked_pair(fun: Callable[..., Any], pair: Any) -> tuple[Any, Any]:
    if not isinstance(pair, tuple | list) or len(pair) != 2 or not callable(pair[1]):
        raise TypeError(
            f"the custom_gradient function {name_of(fun)} must return a pair of its result and a "
            f"function of the result's cotangent, but returned {pair!r}"
        )
    return pair[0], pair[1]


def closure_convert(fun: Callable[..., Any], *example_args: PyTree) -> tuple[Callable, list[Any]]:
    """Converts closed-over values that are being differentiated to explicit arguments.

    This is needed before a custom derivative rule is applied to a user's function. The rule covers
    arguments only, so the values that the function closes over must become arguments.

    Args:
      fun: the function.
      *example_args: arguments, of which only the types are used.

    Returns:
      A function of the same arguments followed by the converted values, and the list of these
      values. The converted values are those that are being traced and have a float or complex
      dtype.

    Example:
      >>> from olympus_ir import lax
      >>> converted, values = closure_convert(lambda x: lax.mul(x, 2.0), 1.0)
      >>> converted(3.0, *values)
      Array(6., dtype=float32, weak_type=True)
    """
    closure, closed_over = _trace_closure(fun, example_args, "closure_convert")
    hoisted = [value for value in closed_over if _may_be_differentiated(value)]
    constants = [None if _may_be_differentiated(value) else value for value in closed_over]
    return _Converted(closure, constants, len(example_args)), hoisted


class _Converted(NamedFunction):
    """A traced function that takes converted values after its arguments.

    Args:
      closure: the traced function.
      kept: the closed-over values that are not converted; None in place of each converted value.
      count: the number of arguments.
    """

    __slots__ = ("closure", "count", "kept")

    def __init__(self, closure: _TracedClosure, kept: list[Any], count: int) -> None:
        self.closure = closure
        self.kept = kept
        self.count = count

    def __call__(self, *args: Any) -> Any:
        operands = iter(args[self.count :])
        converted = sum(value is None for value in self.kept)
        if len(args) != self.count + converted:
            raise TypeError(
                "The inputs to the closure produced by closure_convert must be its "
                f"{self.count} arguments followed by the {converted} values that it closed over, "
                f"got {len(args)} inputs"
            )
        values = [next(operands) if value is None else value for value in self.kept]
        return self.closure(values, *args[: self.count])


def _may_be_differentiated(value: Any) -> bool:
    return isinstance(value, Tracer) and dtypes.issubdtype(value.dtype, np.inexact)
