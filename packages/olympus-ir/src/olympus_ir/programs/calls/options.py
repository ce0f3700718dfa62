# SPDX-License-Identifier: Apache-2.0
"""Options of compiled functions, checked against the signature of the function."""

from __future__ import annotations

import inspect
import operator
import types
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

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
    """

    __slots__ = (
        "_key",
        "cache",
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
        tuple(sorted((compiler_options or {}).items())),
        max_traces if max_traces is None else _limit(max_traces),
        None if compile_budget == "auto" else _seconds(compile_budget),
        cache if cache is None else bool(cache),
        tiers if tiers is None else bool(tiers),
        plain_arguments,
    )


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
    both = set(static) & set(donated)
    if both:
        raise ValueError(
            f"static_{kind} and donate_{kind} cannot intersect: {sorted(both)} are in both. A "
            "static argument has no memory to donate."
        )


def _parameters(
    fun: Callable[..., Any], donate_argnames: Any
) -> tuple[list[str], set[str], str | None, bool] | None:
    """Returns a function's parameters, or None if the function has no signature.

    Returns:
      The names of positional parameters, the names of keyword parameters, the name of the variadic
      positional parameter or None, and whether there is a variadic keyword parameter.
    """
    if type(fun) is types.FunctionType and not fun.__dict__:
        # This takes a tenth of the time of `inspect.signature`, which matters at the import of
        # libraries of compiled functions; see the benchmark "import the NumPy interface".
        code = fun.__code__
        count = code.co_argcount
        all_named = count + code.co_kwonlyargcount
        return (
            list(code.co_varnames[:count]),
            set(code.co_varnames[code.co_posonlyargcount : all_named]),
            code.co_varnames[all_named] if code.co_flags & inspect.CO_VARARGS else None,
            bool(code.co_flags & inspect.CO_VARKEYWORDS),
        )
    try:
        parameters = inspect.signature(fun).parameters.values()
    except (TypeError, ValueError) as error:
        if donate_argnames:  # the positions of these names are needed, too
            raise ValueError(
                f"Getting the signature of function {fun} failed. Pass donate_argnums instead of "
                "donate_argnames."
            ) from error
        return None
    kinds = inspect.Parameter
    return (
        [each.name for each in parameters if each.kind <= kinds.POSITIONAL_OR_KEYWORD],
        {
            each.name
            for each in parameters
            if each.kind in (kinds.KEYWORD_ONLY, kinds.POSITIONAL_OR_KEYWORD)
        },
        next((each.name for each in parameters if each.kind is kinds.VAR_POSITIONAL), None),
        any(each.kind is kinds.VAR_KEYWORD for each in parameters),
    )


def _complete(parameters: Any, argnums: Any, argnames: Any, what: str) -> tuple[tuple, tuple]:
    """Normalizes argument positions and names; if either is None, derives it from the other."""
    numbers = _integers(argnums, f"{what}_argnums")
    names = _strings(argnames, f"{what}_argnames")
    if parameters is None or (not numbers and not names):
        return tuple(n for n in numbers if n >= 0) if parameters is None else numbers, names
    positional, keyword, variadic, takes_any_name = parameters
    without_name = {*positional, variadic} - keyword
    count = len(positional)
    for number in numbers:
        if variadic is None and not -count <= number < count:
            raise ValueError(
                f"Jitted function has {what}_argnums={numbers}, but only accepts {count} "
                "positional arguments."
            )
    for name in names:
        if name in without_name:
            problem = "These are positional-only."
        elif not takes_any_name and name not in keyword:
            problem = (
                f"Function does not take these args; it takes {sorted(keyword) or 'none by name'}."
            )
        else:
            continue
        raise ValueError(
            f"Jitted function has invalid argnames {{{name!r}}} in {what}_argnames. {problem}"
        )
    # With a variadic parameter, each call has a last position of its own.
    from_end = count if variadic is None else 0
    resolved = tuple(number + from_end if number < 0 else number for number in numbers)
    completed_names = names
    completed_numbers = resolved
    if argnames is None:
        completed_names = tuple(
            positional[number]
            for number in resolved
            if 0 <= number < count and positional[number] in keyword
        )
    if argnums is None:
        completed_numbers = tuple(positional.index(name) for name in names if name in positional)
    return tuple(sorted(set(completed_numbers))), completed_names


def _integers(value: Any, what: str) -> tuple[int, ...]:
    if value is None:
        return ()
    values = (value,) if not isinstance(value, tuple | list | set | range) else tuple(value)
    try:
        return tuple(number.__index__() for number in values)
    except AttributeError:
        raise TypeError(f"{what} must be an int or a sequence of ints, got {value!r}") from None


def _strings(value: Any, what: str) -> tuple[str, ...]:
    if value is None:
        return ()
    values = (value,) if isinstance(value, str) else tuple(value)
    if not all(isinstance(name, str) for name in values):
        raise TypeError(f"{what} must be a str or a sequence of strs, got {value!r}")
    return values
