# SPDX-License-Identifier: Apache-2.0
"""Resolves positions and names of arguments with a function's signature."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from olympus_ir.diagnostics.source_info import signature_of

__all__ = [
    "check_callable",
    "ensure_inbounds",
    "ensure_index",
    "ensure_index_tuple",
    "fun_signature",
    "infer_argnums_and_argnames",
    "is_hashable",
    "resolve_kwargs",
]


def infer_argnums_and_argnames(
    sig: inspect.Signature,
    argnums: int | Iterable[int] | None,
    argnames: str | Iterable[str] | None,
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Infers the positions of arguments from their names, or the names from the positions.

    Args:
      sig: the function's signature.
      argnums: the positions of arguments.
      argnames: the names of arguments.

    Returns:
      The positions and the names, as tuples. Positions and names that the caller gives are not
      changed, even if the signature lacks them.

    Example:
      >>> infer_argnums_and_argnames(inspect.signature(lambda x, y: x), 1, None)
      ((1,), ('y',))
    """
    numbers = (argnums,) if isinstance(argnums, int) else tuple(argnums or ())
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
    named = [
        (number, parameter.name)
        for number, parameter in enumerate(sig.parameters.values())
        if parameter.kind is parameter.POSITIONAL_OR_KEYWORD
    ]
    if argnames is None:
        names = tuple(name for number, name in named if number in numbers)
    elif argnums is None:
        numbers = tuple(number for number, name in named if name in names)
    return numbers, names


def resolve_kwargs(fun: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Returns the positional arguments of a call, keyword arguments and defaults included.

    Raises:
      TypeError: an argument can only be given by its name, or the signature does not fit.

    Example:
      >>> resolve_kwargs(lambda x, y=3: None, (1,), {})
      (1, 3)
    """
    try:
        bound = signature_of(fun).bind(*args, **kwargs)
    except ValueError:  # built-in functions have no signature
        bound = None
    if bound is not None:
        bound.apply_defaults()
    operands = tuple(args) if bound is None else bound.args
    named = kwargs if bound is None else bound.kwargs
    if named := {name: value for name, value in named.items() if name in kwargs}:
        raise TypeError(
            "The following keyword arguments could not be resolved to positions: "
            + ", ".join(named)
        )
    return operands


def ensure_index(x: Any) -> int | tuple[int, ...]:
    """Returns a position, or a tuple of positions.

    Example:
      >>> ensure_index(2), ensure_index([0, 1])
      (2, (0, 1))
    """
    try:
        return operator.index(x)
    except TypeError:
        return tuple(map(operator.index, x))


def ensure_index_tuple(x: Any) -> tuple[int, ...]:
    """Returns a tuple of the positions given by one integer or several."""
    positions = ensure_index(x)
    return positions if isinstance(positions, tuple) else (positions,)


def ensure_inbounds(allow_invalid: bool, num_args: int, argnums: Sequence[int]) -> tuple[int, ...]:
    """Returns positions of arguments, with negative positions counted from the front.

    Args:
      allow_invalid: whether to omit positions out of bounds, instead of an error.
      num_args: the number of arguments.
      argnums: the positions.

    Raises:
      ValueError: a position is out of bounds.
    """
    result = []
    for number in argnums:
        if -num_args <= number < num_args:
            result.append(number % num_args)
        elif not allow_invalid:
            raise ValueError(
                "Positional argument indices, e.g. for `static_argnums`, must have value greater "
                f"than or equal to -len(args) and less than len(args), but got value {number} for "
                f"len(args) == {num_args}."
            )
    return tuple(result)


def fun_signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    """Returns the signature of a function, or None if it has none."""
    try:
        return signature_of(fun)
    except (TypeError, ValueError):
        return None


def is_hashable(arg: Any) -> bool:
    """Returns whether a value can be hashed."""
    try:
        hash(arg)
    except TypeError:
        return False
    return True


def check_callable(fun: Any) -> None:
    """Raises TypeError if a value is not callable, or a function of generators."""
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {fun}")
