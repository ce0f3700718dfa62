# SPDX-License-Identifier: Apache-2.0
"""Options of compiled functions, checked against the signature of the function."""

from __future__ import annotations

import collections
import inspect
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ...diagnostics.source_info import signature_of
from ...settings.config_cache_flags import program_cache
from ...trees.flattening import function_name

__all__ = ["JitOptions", "jit_options"]


class JitOptions:
    """Options of a compiled function; immutable, compared by value.

    Attributes:
      static_argnums: positions of static arguments, which are not traced but compiled in.
      static_argnames: names of static keyword arguments.
      donate_argnums: positions of arguments whose memory the results may reuse.
      donate_argnames: names of keyword arguments whose memory the results may reuse.
      inline: whether a call under another trace records the function's equations instead of a `jit`
          equation.
      plain_arguments: whether an inlined call hands numbers and NumPy arrays to the function as
        they are. Functions of the library accept such values; a user's function gets traced arrays.
      keep_unused: whether the program keeps operands that it does not use.
      name: the name of the program; None for the name of the function.
      placement: shardings, layouts, device, backend: `(name, value)` pairs for the evaluator.
      compiler_options: `(name, value)` pairs for the compiler.
      max_traces: the maximal number of traces with these options, or None. Another trace raises an
        error.
      compile_budget: the target for the compile time in seconds; None for the default.
      cache: whether a program on disk may replace tracing; None for the flag's value. Comparisons
        of options ignore ``cache``, because the programs are the same.
      tiers: whether the first calls run on the reference evaluator; None for the value of the flag
        ``olympus_tiers``. Comparisons of options ignore ``tiers``, because the programs are the
        same.
      caller_waits: whether the caller waits for the results of each call. Such a call on one CPU
        runs in the caller's thread.
    """

    __slots__ = (
        "_key",
        "cache",
        "caller_waits",
        "compile_budget",
        "compiler_options",
        "donate_argnames",
        "donate_argnums",
        "inline",
        "keep_unused",
        "max_traces",
        "name",
        "placement",
        "plain_arguments",
        "static_argnames",
        "static_argnums",
        "tiers",
    )

    def __init__(
        self,
        static_argnums: tuple[int, ...] = (),
        static_argnames: tuple[str, ...] = (),
        donate_argnums: tuple[int, ...] = (),
        donate_argnames: tuple[str, ...] = (),
        inline: bool = False,
        keep_unused: bool = False,
        name: str | None = None,
        placement: tuple = (),
        compiler_options: tuple = (),
        max_traces: int | None = None,
        compile_budget: float | None = None,
        cache: bool | None = None,
        tiers: bool | None = None,
        plain_arguments: bool = False,
        caller_waits: bool = False,
    ) -> None:
        self.static_argnums = static_argnums
        self.static_argnames = static_argnames
        self.donate_argnums = donate_argnums
        self.donate_argnames = donate_argnames
        self.inline = inline
        self.keep_unused = keep_unused
        self.name = name
        self.placement = placement
        self.compiler_options = compiler_options
        self.max_traces = max_traces
        self.compile_budget = compile_budget
        self.cache = cache
        self.tiers = tiers
        self.plain_arguments = plain_arguments
        self.caller_waits = caller_waits
        self._key = (
            static_argnums,
            static_argnames,
            donate_argnums,
            donate_argnames,
            inline,
            keep_unused,
            name,
            placement,
            compiler_options,
            compile_budget,
            max_traces,
            plain_arguments,
            caller_waits,
        )

    @property
    def is_cached(self) -> bool:
        """Returns whether a program on disk may replace tracing."""
        return program_cache.value if self.cache is None else self.cache

    def replace(self, **changes: Any) -> JitOptions:
        """Returns a copy of the options with some changed."""
        fields = {name: getattr(self, name) for name in self.__slots__ if name != "_key"}
        return JitOptions(**{**fields, **changes})

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, JitOptions) and self._key == other._key)

    def __hash__(self) -> int:
        return hash(self._key)

    def __repr__(self) -> str:
        return f"JitOptions{self._key}"


def jit_options(
    fun: Callable[..., Any],
    *,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Sequence[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Sequence[str] | None = None,
    inline: bool = False,
    keep_unused: bool = False,
    name: str | None = None,
    placement: tuple = (),
    compiler_options: dict[str, Any] | None = None,
    max_traces: int | None = None,
    compile_budget: float | str = "auto",
    cache: bool | None = None,
    tiers: bool | None = None,
    plain_arguments: bool = False,
    caller_waits: bool = False,
) -> JitOptions:
    """Checks a user's options and normalizes them.

    Positions of static and donated arguments are completed from names, and names from positions, by
    the function's signature.

    Raises:
      TypeError: if ``fun`` cannot be called, or positions and names have wrong types.
      ValueError: if a position or name does not occur in the function's signature, an argument is
        both static and donated, ``max_traces`` is less than 1, or ``compile_budget`` is not
        positive.
    """
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r} of type {type(fun).__name__}")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(
            f"Expected a function, got a generator function: {function_name(fun)}. Generators "
            "cannot be traced; return the values as a list or use lax.scan."
        )
    if isinstance(fun, staticmethod):
        raise TypeError(
            f"staticmethod arguments are not supported, got {fun!r}. Compile the function, and "
            "make the compiled function a static method."
        )
    if static_argnums is static_argnames is donate_argnums is donate_argnames is None:
        static_numbers = static_names = donated_numbers = donated_names = ()
    else:
        parameters = _parameters(fun, donate_argnames)
        static_numbers, static_names = _complete(
            parameters, static_argnums, static_argnames, "static"
        )
        donated_numbers, donated_names = _complete(
            parameters, donate_argnums, donate_argnames, "donate"
        )
        _check_disjoint("argnames", static_names, donated_names)
        _check_disjoint("argnums", static_numbers, donated_numbers)
    return JitOptions(
        static_numbers,
        static_names,
        donated_numbers,
        donated_names,
        bool(inline),
        bool(keep_unused),
        name,
        placement,
        _sorted_items(compiler_options),
        max_traces if max_traces is None else _limit(max_traces),
        None if compile_budget == "auto" else _seconds(compile_budget),
        cache if cache is None else bool(cache),
        tiers if tiers is None else bool(tiers),
        plain_arguments,
        caller_waits,
    )


def _sorted_items(compiler_options: Any) -> tuple:
    if compiler_options is None:
        return ()
    if not isinstance(compiler_options, Mapping):
        raise TypeError(
            f"compiler_options must be a dictionary of XLA's options, got {compiler_options!r}"
        )
    return tuple(sorted(compiler_options.items()))


def _limit(max_traces: Any) -> int:
    try:
        limit = operator.index(max_traces)
    except TypeError:
        raise TypeError(f"max_traces must be an integer or None, got {max_traces!r}") from None
    if limit < 1:
        raise ValueError(f"max_traces must be at least 1, got {limit}")
    return limit


def _seconds(budget: Any) -> float:
    """Checks a user's ``compile_budget``, a number of seconds, and returns it as a float."""
    if isinstance(budget, bool) or not isinstance(budget, int | float | np.number):
        raise TypeError(
            f'compile_budget must be a number of seconds or "auto", got {budget!r}. For example: '
            "jit(f, compile_budget=2.0)"
        )
    if not budget > 0:
        raise ValueError(f"compile_budget must be a positive number of seconds, got {budget!r}")
    return float(budget)


def _check_disjoint(kind: str, static: tuple, donated: tuple) -> None:
    common = set(static) & set(donated)
    if common:
        raise ValueError(
            f"static_{kind} and donate_{kind} cannot intersect: {sorted(common)} are in both. A "
            "static argument has no memory to donate."
        )


class _Parameters(NamedTuple):
    """The parameters of a function.

    Attributes:
      positional: the names of the parameters that can be passed by position.
      by_name: the names of the parameters that can be passed by keyword.
      variadic: the name of the parameter for further positional arguments, or None.
      takes_any_name: whether the function takes further keyword arguments.
    """

    positional: list[str]
    by_name: set[str]
    variadic: str | None
    takes_any_name: bool


def _parameters(fun: Callable[..., Any], donate_argnames: Any) -> _Parameters | None:
    """Returns a function's parameters, or None if the function has no signature.

    Raises:
      ValueError: the function has no signature, and the positions of ``donate_argnames`` are
        needed.
    """
    if type(fun) is types.FunctionType and not fun.__dict__:
        # This takes a tenth of the time of `inspect.signature`, which matters at the import of
        # libraries of compiled functions; see the benchmark "import the NumPy interface".
        code = fun.__code__
        count = code.co_argcount
        all_named = count + code.co_kwonlyargcount
        return _Parameters(
            positional=list(code.co_varnames[:count]),
            by_name=set(code.co_varnames[code.co_posonlyargcount : all_named]),
            variadic=code.co_varnames[all_named] if code.co_flags & inspect.CO_VARARGS else None,
            takes_any_name=bool(code.co_flags & inspect.CO_VARKEYWORDS),
        )
    try:
        signature = signature_of(fun)
    except (TypeError, ValueError) as error:
        if donate_argnames:
            raise ValueError(
                f"Getting the signature of function {fun} failed. Pass donate_argnums instead of "
                "donate_argnames."
            ) from error
        return None
    kinds = inspect.Parameter
    names: dict[Any, list[str]] = collections.defaultdict(list)
    for parameter in signature.parameters.values():
        names[parameter.kind].append(parameter.name)
    return _Parameters(
        positional=names[kinds.POSITIONAL_ONLY] + names[kinds.POSITIONAL_OR_KEYWORD],
        by_name={*names[kinds.POSITIONAL_OR_KEYWORD], *names[kinds.KEYWORD_ONLY]},
        variadic=next(iter(names[kinds.VAR_POSITIONAL]), None),
        takes_any_name=bool(names[kinds.VAR_KEYWORD]),
    )


def _complete(
    parameters: _Parameters | None, argnums: Any, argnames: Any, option: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Normalizes argument positions and names; if either is None, derives it from the other.

    Args:
      parameters: the parameters of the function, or None if they are unknown.
      argnums: the user's positions.
      argnames: the user's names.
      option: "static" or "donate", for error messages.

    Raises:
      ValueError: the function has no such parameter.
    """
    numbers = _integers(argnums, f"{option}_argnums")
    names = _strings(argnames, f"{option}_argnames")
    if parameters is None:
        return tuple(number for number in numbers if number >= 0), names
    if not numbers and not names:
        return (), ()
    _check_positions(parameters, numbers, option)
    _check_names(parameters, names, option)
    positional, count = parameters.positional, len(parameters.positional)
    # With a variadic parameter, each call has a last position of its own.
    from_end = count if parameters.variadic is None else 0
    positions = tuple(number + from_end if number < 0 else number for number in numbers)
    if argnames is None:
        names = tuple(
            positional[position]
            for position in positions
            if 0 <= position < count and positional[position] in parameters.by_name
        )
    if argnums is None:
        positions = tuple(positional.index(name) for name in names if name in positional)
    return tuple(sorted(set(positions))), names


def _check_positions(parameters: _Parameters, numbers: tuple[int, ...], option: str) -> None:
    count = len(parameters.positional)
    for number in numbers:
        if parameters.variadic is None and not -count <= number < count:
            raise ValueError(
                f"Jitted function has {option}_argnums={numbers}, but only accepts {count} "
                "positional arguments."
            )


def _check_names(parameters: _Parameters, names: tuple[str, ...], option: str) -> None:
    only_positional = {*parameters.positional, parameters.variadic} - parameters.by_name
    for name in names:
        if name in only_positional:
            problem = "These are positional-only."
        elif not parameters.takes_any_name and name not in parameters.by_name:
            accepted = sorted(parameters.by_name) or "none by name"
            problem = f"Function does not take these args; it takes {accepted}."
        else:
            continue
        raise ValueError(
            f"Jitted function has invalid argnames {{{name!r}}} in {option}_argnames. {problem}"
        )


def _integers(value: Any, option: str) -> tuple[int, ...]:
    if value is None:
        return ()
    values = (value,) if not isinstance(value, tuple | list | set | range) else tuple(value)
    try:
        return tuple(number.__index__() for number in values)
    except AttributeError:
        raise TypeError(f"{option} must be an int or a sequence of ints, got {value!r}") from None


def _strings(value: Any, option: str) -> tuple[str, ...]:
    if value is None:
        return ()
    values = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(name, str) for name in values):
        raise TypeError(f"{option} must be a str or a sequence of strs, got {value!r}")
    return values
