# SPDX-License-Identifier: Apache-2.0
"""Conversion of functions of pytrees to functions of flat operands, with names for errors."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..diagnostics.debug_info import DebugInfo
from ..diagnostics.source_info import FunctionOrigin, function_name
from . import pytrees
from .operands import flatten_operands, opened
from .wrapping import update_wrapper

if TYPE_CHECKING:
    import inspect

__all__ = [
    "CalledFunction",
    "FlatFunction",
    "argument_numbers",
    "debug_info",
    "debug_info_of_tree",
    "function_name",
    "function_source",
    "result_paths",
    "select_arguments",
]


class FlatFunction:
    """Function of flat leaves that calls a function of pytrees.

    A call records the structure of the result.

    Args:
      fun: the function.
      in_tree: the structure of ``(args, kwargs)``.
    """

    __slots__ = ("_out_tree", "fun", "in_tree")

    def __init__(self, fun: Callable[..., Any], in_tree: Any) -> None:
        self.fun = fun
        self.in_tree = in_tree
        self._out_tree: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = pytrees.tree_unflatten(self.in_tree, leaves)
        out_leaves, self._out_tree = flatten_operands(self.fun(*args, **kwargs))
        return out_leaves

    @property
    def __name__(self) -> str:
        return function_name(self.fun)

    @property
    def __wrapped__(self) -> Callable[..., Any]:
        return self.fun

    @property
    def out_tree(self) -> Any:
        """Returns the result's structure, which is known once the function has been called."""
        if self._out_tree is None:
            raise RuntimeError("the function has not been called yet")
        return self._out_tree


def function_source(fun: Any) -> str:
    """Returns ``name at file:line`` of a function, or only its name if the line is unknown."""
    return FunctionOrigin(fun).description


def debug_info(
    traced_for: str,
    fun: Any,
    args: tuple,
    kwargs: dict[str, Any],
    *,
    static_argnums: Sequence[int] = (),
    static_argnames: Sequence[str] = (),
    result_paths_thunk: Callable[[], Sequence[str]] | None = None,
    sourceinfo: str | None = None,
    signature: inspect.Signature | None = None,
) -> DebugInfo:
    """Returns the debug information of a function. Names are computed when a message needs them.

    Args:
      traced_for: the transformation.
      fun: the user's function.
      args: the positional arguments (only their structure is kept).
      kwargs: the keyword arguments.
      static_argnums: the positions of the arguments that are not traced.
      static_argnames: the names of the keyword arguments that are not traced.
      result_paths_thunk: a function that returns the paths of the results, or None if they are
        unknown.
      sourceinfo: the function's name and line, ``f at file.py:3``, if they cannot be read from the
          function.
      signature: the function's signature, if it cannot be read from the function.
    """
    static = frozenset(static_argnums)
    dynamic_args = [
        (position, pytrees.tree_structure(arg))
        for position, arg in enumerate(args)
        if position not in static
    ]
    dynamic_kwargs = [
        (name, pytrees.tree_structure(kwargs[name]))
        for name in sorted(kwargs)
        if name not in static_argnames
    ]
    origin: Any = FunctionOrigin(fun) if signature is None else _SignedOrigin(fun, signature)
    return DebugInfo(
        traced_for,
        origin if sourceinfo is None else sourceinfo,
        lambda: _argument_names(origin, dynamic_args, dynamic_kwargs),
        result_paths_thunk,
    )


class _SignedOrigin(FunctionOrigin):
    """Origin of a function whose signature differs from the parameters of its code."""

    __slots__ = ("_parameters",)

    def __init__(self, fun: Any, signature: inspect.Signature) -> None:
        super().__init__(fun)
        self._parameters = list(signature.parameters.values())

    def positional_name(self, position: int) -> str:
        for index, parameter in enumerate(self._parameters):
            if parameter.kind is parameter.VAR_POSITIONAL:
                return f"{parameter.name}[{position - index}]"
            if index == position:
                return parameter.name
        return f"args[{position}]"

    def keyword_name(self, name: str) -> str:
        for parameter in self._parameters:
            if parameter.kind is parameter.VAR_KEYWORD:
                return f"{parameter.name}[{name!r}]"
            if parameter.name == name:
                break
        return name


def debug_info_of_tree(
    traced_for: str, fun: Any, in_tree: Any, positions: Sequence[int] | None = None
) -> DebugInfo:
    """Returns the debug information of a function, given the structure of its traced arguments.

    Args:
      traced_for: the transformation.
      fun: the user's function.
      in_tree: the structure of ``(args, kwargs)``, without arguments that are not traced.
      positions: the positions of the traced positional arguments in the function's signature.
        None means that they are the first arguments.
    """
    called: CalledFunction | None = getattr(fun, "called_function", None)
    origin = FunctionOrigin(fun) if called is None else called.origin

    def names() -> list[str]:
        args_tree, kwargs_tree = in_tree.children()
        if called is not None:
            return [
                name
                for position, tree in called.parts(*args_tree.children())
                for name in _leaf_names(
                    "" if position is None else origin.positional_name(position), tree
                )
            ]
        children = args_tree.children()
        places = range(len(children)) if positions is None else positions
        keywords = kwargs_tree.node_data()[1] if kwargs_tree.node_data() else []
        return _argument_names(
            origin,
            list(zip(places, children, strict=True)),
            list(zip(keywords, kwargs_tree.children(), strict=True)),
        )

    if called is not None and called.traced_for is not None:
        traced_for = called.traced_for
    return DebugInfo(traced_for, origin, names, None)


class CalledFunction(NamedTuple):
    """The user's function inside a wrapper that the library traces.

    For example, `fori_loop` wraps the user's function in the body of a `scan` or a `while`. The
    wrapper has this record as its attribute ``called_function``. Error messages then name the
    user's function and its arguments, not the wrapper and its arguments.

    Attributes:
      origin: the user's function.
      traced_for: the operation to which the user gave the function, such as ``"fori_loop"``. None
        means the operation that traces the wrapper.
      parts: a function that takes the structures of the wrapper's arguments and returns the parts
        of these arguments in order. Each part is a pair: the position of the corresponding user
        argument (None if there is none), and the structure of the part.
    """

    origin: FunctionOrigin
    traced_for: str | None
    parts: Callable[..., list[tuple[int | None, Any]]]


def _argument_names(
    origin: FunctionOrigin, dynamic_args: Sequence, dynamic_kwargs: Sequence
) -> list[str]:
    """Returns a name for each leaf, from the function's parameters and the paths in arguments."""
    names: list[str] = []
    for position, tree in dynamic_args:
        names += _leaf_names(origin.positional_name(position), tree)
    for name, tree in dynamic_kwargs:
        names += _leaf_names(origin.keyword_name(name), tree)
    return names


def _leaf_names(prefix: str, tree: Any) -> list[str]:
    try:  # a leaf that stands for several operands is opened, so each operand gets its own path
        paths, _ = pytrees.tree_flatten_with_path(
            opened(pytrees.tree_unflatten(tree, range(tree.num_leaves)))
        )
        keys = [path for path, _ in paths]
    except Exception:  # a user's constructor may reject placeholders
        keys = pytrees.Structure(tree).paths()
    return [prefix + pytrees.keystr(path) for path in keys]


def result_paths(out_tree: Any) -> list[str]:
    """Returns a path for each flat result, such as ``result[0]['loss']``."""
    return _leaf_names("result", out_tree)


def argument_numbers(argnums: int | Sequence[int], count: int, option: str = "argnums") -> tuple:
    """Returns positions of arguments as non-negative integers.

    Raises:
      TypeError: if ``argnums`` are not integers.
      ValueError: if a position is out of range.
    """
    numbers: tuple[Any, ...] = (
        (argnums,) if not isinstance(argnums, tuple | list) else tuple(argnums)
    )
    result = []
    for number in numbers:
        try:
            index = operator.index(number)
        except TypeError:
            raise TypeError(
                f"{option} must be an integer or a sequence of integers, got {argnums!r}"
            ) from None
        if not -count <= index < count:
            raise ValueError(
                f"{option}={argnums!r} names argument {index}, but the function was called with "
                f"{count} positional argument{'' if count == 1 else 's'}"
            )
        result.append(index % count)
    return tuple(result)


def select_arguments(
    fun: Callable[..., Any], argnums: Sequence[int], args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[Callable[..., Any], list[Any]]:
    """Returns a function of the chosen positional arguments, and the values of these arguments.

    The other arguments, and all keywords, keep the given values.
    """
    chosen = list(argnums)
    fixed = list(args)

    def function_of_chosen(*values: Any) -> Any:
        full = list(fixed)
        for position, value in zip(chosen, values, strict=True):
            full[position] = value
        return fun(*full, **kwargs)

    update_wrapper(function_of_chosen, fun, updated=())
    return function_of_chosen, [args[position] for position in chosen]
