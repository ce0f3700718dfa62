# SPDX-License-Identifier: Apache-2.0
"""Building olympusprs by hand, for libraries that rewrite programs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..diagnostics.source_info import SourceInfo, unknown_source
from ..lax.core.sizes import max_dim as max_dim
from ..lax.core.sizes import min_dim as min_dim
from ..programs.evaluation import eval_olympuspr
from ..programs.expansion import expansion_rules
from ..programs.olympuspr import Atom, ClosedOlympuspr, Equation, Var, no_context
from ..programs.primitives import Primitive
from ..trees import pytrees
from ..trees.flattening import function_name
from ..trees.pytree_prefix import prefix_errors, spread_prefix
from ..types import dtypes
from ..types.avals import AbstractValue, ShapedArray, get_aval, is_valid_value
from ..types.effects import no_effects
from .wrapped_functions import WrappedFun, curried

__all__ = [
    "CallPrimitive",
    "argnums_partial",
    "call_impl",
    "call_p",
    "donation_vector",
    "flatten_axes",
    "gensym",
    "max_dim",
    "min_dim",
    "new_olympuspr_eqn",
    "olympuspr_as_fun",
    "primal_dtype_to_tangent_dtype",
    "rebase_donate_argnums",
    "shaped_abstractify",
    "valid_olympustype",
]


class CallPrimitive(Primitive):
    """Primitive with several results that calls the program in its parameter ``call_jaxpr``."""

    multiple_results = True
    call_primitive = True


# Calls a program without constants: outs = call[call_jaxpr] *operands
call_p = CallPrimitive.declare("call", cache_inference=False)


@call_p.def_effectful_abstract_eval
def _call_types(*avals: AbstractValue, call_jaxpr: Any, **params: Any) -> Any:
    return call_jaxpr.out_avals, call_jaxpr.effects


@expansion_rules.define(call_p)
def _call(*operands: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
    program = call_jaxpr.jaxpr if isinstance(call_jaxpr, ClosedOlympuspr) else call_jaxpr
    consts = call_jaxpr.consts if isinstance(call_jaxpr, ClosedOlympuspr) else ()
    return eval_olympuspr(program, consts, *operands)


def call_impl(f: WrappedFun, *args: Any, **params: Any) -> Any:
    """Evaluation rule of call primitives: calls the wrapped function."""
    return f.call_wrapped(*args)


@curried
def olympuspr_as_fun(closed_olympuspr: ClosedOlympuspr, *args: Any) -> list[Any]:
    """Runs a program on operands. Without operands, returns a function that runs the program."""
    return eval_olympuspr(closed_olympuspr.jaxpr, closed_olympuspr.consts, *args)


def gensym() -> Callable[[AbstractValue], Var]:
    """Returns a function that makes a new variable of a type.

    Example:
      >>> from olympus_ir import ShapedArray
      >>> gensym()(ShapedArray((3,), "float32")).aval
      ShapedArray(float32[3])
    """
    return Var


def new_olympuspr_eqn(
    invars: Sequence[Atom],
    outvars: Sequence[Var],
    primitive: Primitive,
    params: dict[str, Any],
    effects: Any,
    source_info: SourceInfo | None = None,
    ctx: Any = None,
) -> Equation:
    """Makes an equation.

    Args:
      invars: the operands.
      outvars: the variables of the results.
      primitive: the primitive.
      params: the primitive's parameters.
      effects: the effects.
      source_info: the source of the equation.
      ctx: the configuration under which the equation runs; None for the empty one.
    """
    return Equation(
        list(invars),
        list(outvars),
        primitive,
        params,
        frozenset(effects) if effects else no_effects,
        unknown_source if source_info is None else source_info,
        no_context if ctx is None else ctx,
    )


def valid_olympustype(x: Any) -> bool:
    """Returns whether a value can be the operand of a primitive.

    Example:
      >>> valid_olympustype(1.0), valid_olympustype("one")
      (True, False)
    """
    return is_valid_value(x)


def shaped_abstractify(x: Any) -> AbstractValue:
    """Returns the type of a value, or of an object with a shape and a dtype."""
    if not is_valid_value(x) and hasattr(x, "shape") and hasattr(x, "dtype"):
        return ShapedArray(x.shape, x.dtype, getattr(x, "weak_type", False))
    return get_aval(x)


def primal_dtype_to_tangent_dtype(primal_dtype: Any) -> Any:
    """Returns the tangent dtype of a primal dtype."""
    return dtypes.tangent_dtype(dtypes.dtype(primal_dtype))


class _Static:
    """A static argument, compared by its value."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and bool(self.value == other.value)


_DYNAMIC = object()


def _fill_in(
    inner: Callable[..., Any], fixed: tuple[Any, ...], *dynamic: Any, **kwargs: Any
) -> Any:
    remaining = iter(dynamic)
    args = [next(remaining) if value is _DYNAMIC else value.value for value in fixed]
    return inner(*args, **kwargs)


def argnums_partial(
    f: WrappedFun,
    dyn_argnums: int | Sequence[int],
    args: Sequence[Any],
    require_static_args_hashable: bool = True,
) -> tuple[WrappedFun, tuple[Any, ...]]:
    """Fixes the positional arguments of a function, except those in ``dyn_argnums``.

    Args:
      f: the function.
      dyn_argnums: the positions of the remaining arguments.
      args: all arguments.
      require_static_args_hashable: whether the fixed arguments must be hashable.

    Returns:
      The function of the remaining arguments, and their values.

    Raises:
      ValueError: a fixed argument must be hashable and is not.
    """
    numbers = [dyn_argnums] if isinstance(dyn_argnums, int) else list(dyn_argnums)
    dynamic = {number % len(args) for number in numbers}
    fixed: list[Any] = []
    for number, value in enumerate(args):
        if number in dynamic:
            fixed.append(_DYNAMIC)
            continue
        if require_static_args_hashable:
            try:
                hash(value)
            except TypeError:
                raise ValueError(
                    f"static argument {number} of {function_name(f.f)} is of type {type(value)}, "
                    "which is not hashable; static arguments are part of the keys of caches"
                ) from None
        fixed.append(_Static(value))
    left = tuple(value for number, value in enumerate(args) if number in dynamic)
    return f.wrap(_fill_in, (tuple(fixed),), None), left


def donation_vector(
    donate_argnums: Sequence[int],
    donate_argnames: Sequence[str],
    in_tree: Any,
    kws: bool = True,
) -> tuple[bool, ...]:
    """Returns a flag for each leaf of the arguments: whether the leaf is donated.

    Args:
      donate_argnums: the positional arguments that are donated.
      donate_argnames: the keyword arguments that are donated.
      in_tree: the structure of ``(args, kwargs)``, or of ``args`` alone.
      kws: whether ``in_tree`` is the structure of ``(args, kwargs)``.
    """
    args_tree, kwargs_tree = in_tree.children() if kws else (in_tree, None)
    flags: list[bool] = []
    for index, child in enumerate(args_tree.children()):
        flags += [index in donate_argnums] * child.num_leaves
    if kwargs_tree is not None and kwargs_tree.num_leaves:
        names = kwargs_tree.node_data()[1]
        for name, child in zip(names, kwargs_tree.children(), strict=True):
            flags += [name in donate_argnames] * child.num_leaves
    return tuple(flags)


def rebase_donate_argnums(
    donate_argnums: Sequence[int], static_argnums: Sequence[int]
) -> tuple[int, ...]:
    """Returns the positions of donated arguments among the arguments that are not static.

    Raises:
      ValueError: an argument is donated and static.
    """
    both = sorted(set(donate_argnums) & set(static_argnums))
    if both:
        raise ValueError(f"arguments {both} are static, so their memory cannot be donated")
    return tuple(
        sorted(number - sum(s < number for s in static_argnums) for number in donate_argnums)
    )


def flatten_axes(
    name: str, treedef: Any, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False
) -> list[Any]:
    """Broadcasts a prefix tree of axes, in which None is a leaf, to the leaves of a structure.

    Args:
      name: the name of the tree, for the error.
      treedef: the structure.
      axis_tree: the tree of axes, a prefix of the structure.
      kws: whether structure and prefix are pairs for ``(args, kwargs)``. Errors then describe only
        the elements for ``args``.
      tupled_args: whether a list in the prefix may match a tuple in the structure.

    Raises:
      ValueError: the tree is not a prefix of the structure. The message tells where they differ.
    """
    if tupled_args and isinstance(axis_tree, list):
        axis_tree = tuple(axis_tree)
    try:
        return spread_prefix(axis_tree, pytrees.Structure(treedef), is_leaf=_is_none)
    except ValueError:
        if kws and isinstance(axis_tree, tuple) and len(axis_tree) == 2:
            axis_tree, treedef = axis_tree[0], treedef.children()[0]
        details = prefix_errors(axis_tree, pytrees.Structure(treedef), is_leaf=_is_none)
        raise ValueError(
            f"{name} specification must be a tree prefix of the corresponding value; "
            f"{details[0](name) if details else ''}"
        ) from None


def _is_none(value: Any) -> bool:
    return value is None
