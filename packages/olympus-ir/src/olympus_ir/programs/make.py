# SPDX-License-Identifier: Apache-2.0
"""Inspection of functions by `make_olympuspr` and `eval_shape`, and scopes that name equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ContextDecorator
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..diagnostics.name_stacks import NameStack
from ..diagnostics.traceback_filtering import api_boundary
from ..loading import deferred
from ..trees import pytrees
from ..trees.flattening import FlatFunction, debug_info_of_tree, function_name
from ..trees.operands import flatten_operands
from ..trees.pickled_functions import travels
from ..trees.wrapping import wraps
from ..types import known_types
from ..types.annotations import AxisName, PyTree
from ..types.avals import ShapedArray
from ..types.references import check_aliases
from ..types.shape_struct import ShapeDtypeStruct
from .calls.options import JitOptions, jit_options
from .calls.tracing import argument_avals, bind_statics, check_tracing_allowed, trace_call
from .olympuspr import ClosedOlympuspr
from .staging import trace_to_olympuspr
from .tracing import current, extend_axes

if TYPE_CHECKING:
    from . import mutable_types
else:
    mutable_types = deferred(".mutable_types", milliseconds=0.7)

__all__ = ["eval_shape", "make_olympuspr", "named_call", "named_scope"]

P = ParamSpec("P")
R = TypeVar("R")


def make_olympuspr(
    fun: Callable[..., Any],
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[AxisName, int]] | None = None,
    return_shape: bool = False,
) -> Callable[..., Any]:
    """Returns a function that returns the program of a call instead of its result.

    Args:
      fun: the function to be traced.
      static_argnums: positions of arguments that are passed unchanged instead of being traced.
      axis_env: names and sizes of axes that are bound during tracing.
      return_shape: whether to return the types of the result as well.

    Returns:
      A function that takes the arguments of ``fun``, or `ShapeDtypeStruct`s in place of arrays, and
      returns a `ClosedOlympuspr`; with ``return_shape``, a pair of the program and the result, with
      `ShapeDtypeStruct`s in place of arrays.

    Raises:
      TypeError: if ``fun`` cannot be called.

    Example:
      >>> from olympus_ir import lax
      >>> make_olympuspr(lambda x: lax.sin(lax.cos(x)))(3.0)
      { lambda ; a:f32[]. let b:f32[] = cos a; c:f32[] = sin b in (c,) }
    """
    options = jit_options(fun, static_argnums=static_argnums)
    axes = dict(axis_env or ())

    @api_boundary
    def olympuspr_maker(*args: Any, **kwargs: Any) -> Any:
        called, args, kwargs, positions = _dynamic_part(fun, options, args, kwargs)
        leaves, in_tree = flatten_operands((args, kwargs))
        avals = argument_avals(fun, in_tree, leaves, positions, abstract=True)
        flat = FlatFunction(called, in_tree)
        info = debug_info_of_tree("jit", fun, in_tree, positions)
        check_tracing_allowed(info)
        with extend_axes(axes):
            olympuspr, constants = trace_to_olympuspr(flat, avals, info)
        if any(aval.is_ref for aval in avals):
            check_aliases(info, constants, leaves)
        closed = ClosedOlympuspr(olympuspr, constants)
        return (closed, _structs(closed, flat.out_tree)) if return_shape else closed

    olympuspr_maker.__doc__ = getattr(fun, "__doc__", None)
    olympuspr_maker.__name__ = f"make_olympuspr({function_name(fun)})"
    olympuspr_maker.__qualname__ = (
        f"make_olympuspr({getattr(fun, '__qualname__', function_name(fun))})"
    )
    olympuspr_maker.__module__ = "olympus"
    return olympuspr_maker


def _dynamic_part(
    fun: Callable[..., Any], options: JitOptions, args: tuple, kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], tuple, dict[str, Any], Any]:
    if not options.static_argnums and not options.static_argnames:
        return fun, args, kwargs, None
    call = bind_statics(fun, options, args, kwargs)
    return call.fun, call.args, call.kwargs, call.positions


def _structs(closed: ClosedOlympuspr, out_tree: Any) -> Any:
    return pytrees.tree_unflatten(
        out_tree,
        [
            aval
            if not isinstance(aval, ShapedArray)
            else ShapeDtypeStruct(
                aval.shape, aval.dtype, weak_type=aval.weak_type, sharding=aval.layout
            )
            for aval in closed.out_avals
        ],
    )


_no_options = JitOptions()


@api_boundary
def eval_shape(fun: Callable[..., Any], *args: PyTree, **kwargs: PyTree) -> PyTree:
    """Returns the types of a function's results without computing them.

    Args:
      fun: the function.
      *args: the arguments, with arrays or `ShapeDtypeStruct`s as leaves.
      **kwargs: the keyword arguments, in the same form.

    Returns:
      The result, with `ShapeDtypeStruct`s in place of arrays.

    Raises:
      TypeError: if the call would raise a TypeError, for example for incompatible shapes.

    Example:
      >>> from olympus_ir import lax
      >>> x = ShapeDtypeStruct((1000, 1000), "float32")
      >>> eval_shape(lambda x: lax.reduce_sum(x, (0,)), x)
      ShapeDtypeStruct(shape=(1000,), dtype=float32)
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    method = getattr(fun, "eval_shape", None)
    if callable(method):  # a jitted function is traced with its own options
        return method(*args, **kwargs)
    if known_types.mutable:
        if mutable_types.concerns(fun, args, kwargs):
            return mutable_types.types_of_call(eval_shape, fun, args, kwargs)
    program, _ = trace_call(fun, _no_options, args, kwargs, abstract=True)
    return _structs(program.closed, program.out_tree)


def named_scope(name: str) -> NamedScope:
    """Returns a context manager and decorator that names the equations recorded within it.

    The names of an equation's scopes appear in profiles, in the compiled program and in
    ``str(program)`` with ``name_stack=True``.

    Args:
      name: the name of the scope.

    Raises:
      TypeError: if the name is not a string.

    Example:
      >>> from olympus_ir import lax
      >>> def f(x):
      ...     with named_scope("layer"):
      ...         return lax.sin(x)
      >>> print(make_olympuspr(f)(1.0).pretty_print(name_stack=True))
      { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } # [layer]
    """

    if not isinstance(name, str):
        raise TypeError("named_scope name argument must be a string.")
    return NamedScope(name)


class NamedScope(ContextDecorator):
    """Context manager and decorator that names the equations recorded within; see `named_scope`."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._previous: list[tuple[NameStack, Any]] = []

    def __enter__(self) -> str:
        source = current.source
        self._previous.append((current.name_stack, source))
        current.name_stack = current.name_stack.extend(self.name)
        if source is not None:  # derivative rules and other deferred code run with a fixed source
            current.source = source.replace(name_stack=source.name_stack.extend(self.name))
        return self.name

    def __exit__(self, *exception: object) -> None:
        current.name_stack, current.source = self._previous.pop()


@travels
def named_call(fun: Callable[P, R], *, name: str | None = None) -> Callable[P, R]:
    """Returns a function whose equations are recorded in a `named_scope`.

    Args:
      fun: the function.
      name: the name of the scope; None for the name of the function.

    Example:
      >>> from olympus_ir import lax
      >>> program = make_olympuspr(named_call(lax.sin, name="wave"))(1.0)
      >>> print(program.pretty_print(name_stack=True))
      { lambda ; a:f32[]. let b:f32[] = sin a in (b,) } # [wave]
    """
    scope_name = function_name(fun) if name is None else name

    @api_boundary
    @wraps(fun)
    def in_scope(*args: Any, **kwargs: Any) -> Any:
        with named_scope(scope_name):
            return fun(*args, **kwargs)

    return in_scope
