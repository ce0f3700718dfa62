# SPDX-License-Identifier: Apache-2.0
"""Base of functions with custom derivative rules, which take all arguments by position."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, ParamSpec, TypeVar

from olympus_ir.diagnostics.source_info import signature_of
from olympus_ir.diagnostics.traceback_filtering import api_boundary
from olympus_ir.trees import pytrees
from olympus_ir.trees.decorated_functions import DecoratedFunction
from olympus_ir.trees.flattening import function_name
from olympus_ir.trees.wrapping import update_wrapper
from olympus_ir.types.avals import aval_getters
from olympus_ir.types.typed_scalars import typed, untyped_classes

from ..zeros import aval_of

__all__ = [
    "CustomRuleFunction",
    "OutTree",
    "call_unlifted",
    "name_of",
    "non_differentiated",
    "positional_arguments",
    "positional_count",
]

P = ParamSpec("P")
R = TypeVar("R")


class OutTree:
    """The structure of a result, known once the function or its rule has been called.

    Attributes:
      known: the structure; None before the first call.
      avals: the types of the leaves that the function returned; None if it was not called.
    """

    __slots__ = ("avals", "known")

    def __init__(self) -> None:
        self.known: Any = None
        self.avals: Sequence[Any] | None = None

    def set(self, tree: Any) -> None:
        self.known = tree

    @property
    def tree(self) -> Any:
        if self.known is None:
            raise RuntimeError("the function has not been called yet")
        return self.known

    def difference(self, tree: Any, results: Sequence[Any], function: str) -> Difference | None:
        """Compares the results of a rule with those of the function, if it has been called.

        Args:
          tree: the structure of the rule's results.
          results: their leaves.
          function: the decorated function, as error messages name it.

        Returns:
          None if the structures, and the shapes and dtypes of the leaves, are the same.
        """
        if self.avals is None:
            return None
        avals = list(map(aval_of, results))
        if tree != self.known:
            same, kind = "of the same container/pytree structure", "container/pytree structure"
        elif any(map(_differ, avals, self.avals)):
            same, kind = "with leaves of the same shape/dtype", "shapes/dtypes of"
        else:
            return None
        return Difference(
            same,
            f"output's first element had {kind}:\n    {_types(tree, avals)}\nwhile the {function} "
            f"had output {kind}:\n    {_types(self.known, self.avals)}.",
        )


class Difference(NamedTuple):
    """Difference between the result of a rule and the result of its function.

    Attributes:
      same: what the results should have in common.
      found: the end of an error message, which shows both results.
    """

    same: str
    found: str


def _differ(aval: Any, expected: Any) -> bool:
    # A rule may run on values of definite sizes after its function was traced for symbolic ones.
    if not all(isinstance(size, int) for size in (*aval.shape, *expected.shape)):
        return len(aval.shape) != len(expected.shape)
    return aval.shape != expected.shape or aval.dtype != expected.dtype


class _Shown:
    """A leaf that prints as its type."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval

    def __repr__(self) -> str:
        return self.aval.str_short()


def _types(tree: Any, avals: Sequence[Any]) -> Any:
    return pytrees.tree_unflatten(tree, list(map(_Shown, avals)))


def name_of(fun: Any) -> str:
    return function_name(fun)


def positional_arguments(
    fun: Callable[..., Any],
    args: Sequence[Any],
    kwargs: dict[str, Any],
    decorator: str = "custom_vjp",
) -> tuple[Any, ...]:
    """Returns all arguments by position, defaults included.

    Args:
      fun: the function.
      args: the arguments.
      kwargs: the keyword arguments.
      decorator: the name of the decorator, for error messages.

    Raises:
      TypeError: the arguments do not fit the signature, or some are keyword-only.
    """
    try:
        signature = signature_of(fun)
    except (TypeError, ValueError):
        if kwargs:
            raise TypeError(
                f"the signature of {name_of(fun)} is not known, so its arguments must be given by "
                f"position; got the keywords {sorted(kwargs)}"
            ) from None
        return tuple(args)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"{_unresolved(fun, decorator)}{error}") from None
    bound.apply_defaults()
    keyword_only = [name for name in bound.kwargs if name in kwargs]
    if keyword_only:
        raise TypeError(
            f"{_unresolved(fun, decorator)}The following keyword arguments could not be resolved "
            f"to positions: {', '.join(keyword_only)}. Derivative rules take all arguments by "
            "position"
        )
    return bound.args


def _unresolved(fun: Callable[..., Any], decorator: str) -> str:
    return (
        f"The input arguments to the {decorator}-decorated function {name_of(fun)} could not be "
        "resolved to positional-only arguments. Binding failed with the error:\n"
    )


def call_unlifted(function: CustomRuleFunction, args: tuple[Any, ...], kwargs: Any) -> Any:
    """Calls a decorated function while no transformation is running.

    Raises:
      TypeError: the arguments do not fit the signature; the message comes from
        `positional_arguments`.
    """
    if kwargs:
        args, kwargs = positional_arguments(function.fun, args, kwargs, function.kind), {}
    for arg in args:
        if arg.__class__ in untyped_classes or arg.__class__ not in aval_getters:
            args = _typed_arguments(args, function.nondiff_argnums)
            break
    try:
        return function.fun(*args)
    except TypeError as error:
        if error.__traceback__ is not None and error.__traceback__.tb_next is None:
            positional_arguments(function.fun, args, kwargs, function.kind)
        raise


def _typed_arguments(args: tuple[Any, ...], fixed: Sequence[int]) -> tuple[Any, ...]:
    """Converts Python numbers to typed scalars, except in the arguments at positions ``fixed``."""
    count = len(args)
    positions = {number % count for number in fixed if -count <= number < count}
    return tuple([x if i in positions else _typed_leaves(x) for i, x in enumerate(args)])


def _typed_leaves(value: Any) -> Any:
    return pytrees.tree_map(typed, value)


def positional_count(fun: Callable[..., Any]) -> int | None:
    """Returns the number of positional parameters, including those with defaults.

    Returns None if the function has no signature or takes any number of arguments.
    """
    try:
        parameters = signature_of(fun).parameters.values()
    except (TypeError, ValueError):
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    return sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in parameters)


def non_differentiated(
    fun: Callable[..., Any], argnums: int | Sequence[int], argnames: str | Sequence[str]
) -> tuple[int, ...]:
    """Returns the sorted positions of the arguments in ``argnums`` and ``argnames``.

    Raises:
      ValueError: a name does not occur in the signature.
      TypeError: a position is not an integer.
    """
    try:
        numbers = set(map(operator.index, (argnums,) if isinstance(argnums, int) else argnums))
    except TypeError:
        raise TypeError(
            f"nondiff_argnums must be positions of arguments, got {argnums!r}; use "
            "nondiff_argnames for names"
        ) from None
    names = (argnames,) if isinstance(argnames, str) else tuple(argnames)
    if names:
        parameters = list(signature_of(fun).parameters)
        for name in names:
            if name not in parameters:
                raise ValueError(
                    f"nondiff_argnames names {name!r}, but {name_of(fun)} has the parameters "
                    f"{parameters}"
                )
            numbers.add(parameters.index(name))
    return tuple(sorted(numbers))


class CustomRuleFunction(DecoratedFunction, Generic[P, R]):
    """Base of functions with custom derivative rules.

    Args:
      fun: the function.
      nondiff_argnums: the positions of arguments that are not differentiated.
      nondiff_argnames: the names of arguments that are not differentiated.
    """

    #: The name of the decorator, for error messages.
    kind: ClassVar[str]

    @api_boundary
    def __init__(
        self,
        fun: Callable[P, R],
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ) -> None:
        update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = non_differentiated(fun, nondiff_argnums, nondiff_argnames)
        self._count: int | None = None

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        raise NotImplementedError(f"{type(self).__name__} must define __call__")

    def positional(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """Returns all arguments of a call by position, defaults included.

        Raises:
          TypeError: the arguments do not fit the signature, or some are keyword-only.
        """
        # This is computed at the first call, because many decorated functions are never called.
        if self._count is None:
            self._count = positional_count(self.fun)
        if kwargs or len(args) != self._count:
            return positional_arguments(self.fun, args, kwargs, self.kind)
        return args

    def __repr__(self) -> str:
        return f"<{self.kind} function {name_of(self)}>"
