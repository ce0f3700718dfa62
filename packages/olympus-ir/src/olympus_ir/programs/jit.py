# SPDX-License-Identifier: Apache-2.0
"""`jit` as far as it is tracing: from a call of a function to a program and flat operands.

Compiling and running the program is the evaluator's business. What is here is shared by all of
them: options, static arguments, the cache of traced programs, and the `jit` equation that a call
under another trace becomes.
"""

from __future__ import annotations

import inspect
import types
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from .._jaxlib import config_trace_context
from ..diagnostics import phases
from ..diagnostics.debug_info import DebugInfo
from ..loading import deferred
from ..settings.config_states import explain_cache_misses, no_tracing
from ..trees import pytrees
from ..trees.flattening import FlatFunction, debug_info_of_tree, function_name, result_paths
from ..trees.function_caches import FunctionCache
from ..types.avals import AbstractValue, argument_aval, aval_getters, get_aval
from ..types.references import check_aliases
from .evaluation import evaluator
from .olympuspr import ClosedOlympuspr
from .primitives import instruction
from .staging import separate_constants, trace_to_olympuspr
from .tracing import current, evaluation_trace, find_tracers

if TYPE_CHECKING:
    from . import cache_misses
else:
    cache_misses = deferred(".cache_misses", milliseconds=0.5)


class JitOptions:
    """How a function is to be compiled; immutable, compared by value.

    Attributes:
      static_argnums: positions of arguments that are not traced but compiled in.
      static_argnames: names of keyword arguments that are not traced but compiled in.
      donate_argnums: positions of arguments whose memory the results may take.
      donate_argnames: likewise, names of keyword arguments.
      inline: whether a call under another trace is written out in place of a `jit` equation.
      keep_unused: whether operands that the program does not use are passed all the same.
      name: the name of the program; the function's where it is None.
      placement: shardings, layouts, device, backend: `(name, value)` pairs for the evaluator.
      compiler_options: `(name, value)` pairs for the compiler.
    """

    __slots__ = (
        "_key",
        "compiler_options",
        "donate_argnames",
        "donate_argnums",
        "inline",
        "keep_unused",
        "name",
        "placement",
        "static_argnames",
        "static_argnums",
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
        )

    def replace(self, **changes: Any) -> JitOptions:
        """The same options with some changed."""
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
) -> JitOptions:
    """Checks a user's options and brings them into normal form.

    Positions and names of static (and of donated) arguments are completed from each other by the
    function's signature.

    Raises:
      TypeError: where ``fun`` cannot be called, or numbers and names have wrong types.
      ValueError: where a number or name does not occur in the function's signature, or an
        argument is both static and donated.
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
    )


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
    """Names of positional and keyword parameters, that of further ones, whether there are others.

    None of a function that does not tell them.
    """
    if type(fun) is types.FunctionType and not fun.__dict__:
        # What `inspect.signature` says of such a function, at a tenth of its time, which counts for
        # libraries of compiled functions: benchmark "import the NumPy interface".
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
        if donate_argnames:  # which stand for positions, too
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
    """Normal forms of numbers and names, each completed from the other by the signature."""
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
    resolved = tuple(number % count if number < 0 and count else number for number in numbers)
    completed_names = names
    completed_numbers = resolved
    if argnames is None:
        completed_names = tuple(
            positional[number]
            for number in resolved
            if number < count and positional[number] in keyword
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


# ---- from a call to a program ----


# A call of a compiled function; `olympus_ir.lax.calls` has its kin.
jit_p = instruction("jit", multiple_results=True, family="calls", cache_inference=False)
jit_p.spreads_varying = False  # the types of the results are those of the program


@jit_p.def_effectful_abstract_eval
def _jit_types(*avals: Any, jaxpr: ClosedOlympuspr, **params: Any) -> tuple[list, frozenset]:
    return jaxpr.out_avals, jaxpr.effects


# Set when the first high type is made known; see `olympus_ir.expansions.high_types`.
_has_high_types: Callable[[ClosedOlympuspr], bool] | None = None


def register_high_type_check(check: Callable[[ClosedOlympuspr], bool]) -> None:
    """Has every program looked through for values of high types from now on."""
    global _has_high_types
    _has_high_types = check


class TracedProgram:
    """A traced function: the program, the structure of its result, and the equation's parameters.

    Attributes:
      closed: the program. Its first inputs are the ``hoisted`` values.
      out_tree: the structure of the result.
      params: the parameters of the `jit` equation that calls it.
      hoisted: tracers of outer traces, and references, that the function closes over.
      has_refs: whether there are references among its inputs.
      has_high: whether there are values of types that are made of arrays.
      pure: the evaluator's form of a program with references, without them.
      in_tree: the structure of ``(args, kwargs)`` without static ones; None for flat operands.
    """

    __slots__ = (
        "closed",
        "executables",
        "has_high",
        "has_refs",
        "hoisted",
        "in_tree",
        "out_tree",
        "params",
        "pure",
    )

    def __init__(
        self,
        closed: ClosedOlympuspr,
        out_tree: Any,
        params: dict[str, Any],
        hoisted: list[Any],
        in_tree: Any = None,
    ) -> None:
        self.closed = closed
        self.in_tree = in_tree
        self.out_tree = out_tree
        self.params = params
        self.hoisted = hoisted
        self.has_refs = any(var.aval.is_ref for var in closed.jaxpr.invars)
        self.has_high = _has_high_types is not None and _has_high_types(closed)
        self.pure: Any = None
        # The evaluator's compiled forms.
        self.executables: dict[Any, Any] = {}


# For each function: from everything that tracing depends on to the traced program.
_programs = FunctionCache()


def trace_call(
    fun: Callable[..., Any],
    options: JitOptions,
    args: tuple,
    kwargs: dict[str, Any],
    *,
    abstract: bool = False,
) -> tuple[TracedProgram, list[Any]]:
    """Traces a call, or finds the program traced before for arguments of the same types.

    Args:
      fun: the function.
      options: how it is compiled.
      args: the positional arguments.
      kwargs: the keyword arguments.
      abstract: whether leaves may be anything with shape and dtype instead of arrays.

    Returns:
      The program and the flat operands, without hoisted ones.

    Raises:
      ValueError: where static arguments are missing or cannot be hashed.
      TypeError: where an operand is not an array.
    """
    statics: tuple = ()
    if options.static_argnums or options.static_argnames:
        fun_called, args, kwargs, statics, positions = bind_statics(fun, options, args, kwargs)
    else:
        fun_called, positions = fun, None
    leaves, in_tree = pytrees.tree_flatten((args, kwargs))
    avals = argument_avals(fun, in_tree, leaves, positions, abstract)
    programs = _programs.of(fun)
    key = (options, in_tree, avals, statics, current.axes, config_trace_context())
    program = programs.get(key)
    if program is None:
        if explain_cache_misses.value:
            cache_misses.explain(
                fun, debug_info_of_tree("jit", fun, in_tree, positions), key, programs
            )
        program = _trace_program(fun, fun_called, options, in_tree, avals, positions)
        # A program that closes over tracers of this very moment is of no use later.
        if not find_tracers(program.hoisted):
            programs[key] = program
    if program.has_refs:
        _check_references(program, leaves)
    return program, leaves


def _check_references(program: TracedProgram, leaves: Sequence[Any]) -> None:
    check_aliases(program.closed.debug_info, program.hoisted, leaves)


def bind_statics(fun: Any, options: JitOptions, args: tuple, kwargs: dict[str, Any]) -> Any:
    """The function of dynamic arguments alone, these arguments, and a key for the static ones."""
    count = len(args)
    static_numbers = sorted(
        {number % count for number in options.static_argnums if -count <= number < count}
    )
    static_kwargs = {name: kwargs[name] for name in options.static_argnames if name in kwargs}
    static_args = [(number, args[number]) for number in static_numbers]
    for where, value in [*static_args, *static_kwargs.items()]:
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                "Non-hashable static arguments are used in a jit function: argument "
                f"{where!r} is {value!r} of type {type(value)}. Static arguments are compiled in "
                "and need __hash__ and __eq__; pass arrays and lists as ordinary arguments."
            ) from None
    static = set(static_numbers)
    positions = [position for position in range(count) if position not in static]
    dynamic_args = tuple(args[position] for position in positions)
    dynamic_kwargs = {name: value for name, value in kwargs.items() if name not in static_kwargs}

    def function_of_dynamic(*dynamic: Any, **keywords: Any) -> Any:
        full: list[Any] = [None] * count
        for number, value in static_args:
            full[number] = value
        for position, value in zip(positions, dynamic, strict=True):
            full[position] = value
        return fun(*full, **keywords, **static_kwargs)

    key = (
        count,
        tuple((number, type(value), value) for number, value in static_args),
        tuple((name, type(value), value) for name, value in sorted(static_kwargs.items())),
    )
    return function_of_dynamic, dynamic_args, dynamic_kwargs, key, positions


def argument_avals(
    fun: Any, in_tree: Any, leaves: Sequence[Any], positions: Any, abstract: bool = False
) -> tuple[AbstractValue, ...]:
    """The types of arguments' leaves.

    Raises:
      TypeError: where a leaf is not an array; names the argument.
    """
    avals: list[AbstractValue] = []
    try:
        for leaf in leaves:
            getter = aval_getters.get(leaf.__class__)
            avals.append(get_aval(leaf) if getter is None else getter(leaf))
        return tuple(avals)
    except OverflowError as error:
        names = debug_info_of_tree("jit", fun, in_tree, positions).arg_names or ()
        name = names[len(avals)] if len(avals) < len(names) else f"argument {len(avals)}"
        raise OverflowError(
            "An overflow was encountered while parsing an argument to a jitted computation, whose "
            f"argument path is {name}. {error}"
        ) from None
    except TypeError:
        if not abstract:
            _raise_bad_argument(fun, in_tree, leaves, positions, get_aval)
            raise
    try:
        return tuple([argument_aval(leaf) for leaf in leaves])
    except TypeError:
        _raise_bad_argument(fun, in_tree, leaves, positions, argument_aval)
        raise


def _raise_bad_argument(
    fun: Any, in_tree: Any, leaves: Sequence[Any], positions: Any, getter: Callable[[Any], Any]
) -> None:
    for position, leaf in enumerate(leaves):
        try:
            getter(leaf)
        except TypeError as error:
            names = debug_info_of_tree("jit", fun, in_tree, positions).arg_names or ()
            name = names[position] if position < len(names) else f"argument {position}"
            raise TypeError(
                f"Error interpreting argument to {function_name(fun)} as an abstract array. The "
                f"problematic value is of type {type(leaf)} and was passed to the function at "
                f"path {name}.\nThis typically means that a jit-wrapped function was called with a "
                "non-array argument, and this argument was not marked as static using the "
                "static_argnums or static_argnames parameters of olympus.jit."
            ) from error


def check_tracing_allowed(info: DebugInfo) -> None:
    """Raises RuntimeError where the configuration forbids that functions are traced."""
    if no_tracing.value:
        raise RuntimeError(
            f"re-tracing function {info.func_src_info} for `{info.traced_for}`, but 'no_tracing' "
            "is set"
        )


def _trace_program(
    fun: Any, fun_called: Any, options: JitOptions, in_tree: Any, avals: tuple, positions: Any
) -> TracedProgram:
    flat = FlatFunction(fun_called, in_tree)
    info = debug_info_of_tree("jit", fun, in_tree, positions)
    check_tracing_allowed(info)
    if current.trace is evaluation_trace:
        with phases.tracing(function_name(fun)):
            olympuspr, constants = trace_to_olympuspr(flat, avals, info)
    else:  # a part of the function that is being traced
        olympuspr, constants = trace_to_olympuspr(flat, avals, info)
    out_tree = flat.out_tree
    olympuspr.debug_info = info.with_result_paths(lambda: result_paths(out_tree))
    hoisted, closed = separate_constants(ClosedOlympuspr(olympuspr, constants))
    donated = (
        _donated(options, in_tree, positions)
        if (options.donate_argnums or options.donate_argnames)
        else (False,) * len(avals)
    )
    params = {
        "jaxpr": closed,
        **jit_params(
            name=options.name or function_name(fun),
            num_inputs=len(hoisted) + len(avals),
            num_outputs=len(olympuspr.outvars),
            donated_invars=(False,) * len(hoisted) + donated,
            keep_unused=options.keep_unused,
            inline=options.inline,
            compiler_options_kvs=options.compiler_options,
        ),
    }
    return TracedProgram(closed, out_tree, params, hoisted, in_tree)


def jit_params(
    *,
    name: str,
    num_inputs: int,
    num_outputs: int,
    donated_invars: tuple[bool, ...] | None = None,
    keep_unused: bool = False,
    inline: bool = False,
    compiler_options_kvs: tuple = (),
) -> dict[str, Any]:
    """The parameters of a `jit` equation besides the program, without placement."""
    return {
        "in_shardings": (None,) * num_inputs,
        "out_shardings": (None,) * num_outputs,
        "in_layouts": (None,) * num_inputs,
        "out_layouts": (None,) * num_outputs,
        "donated_invars": donated_invars or (False,) * num_inputs,
        "ctx_mesh": None,
        "name": name,
        "keep_unused": keep_unused,
        "inline": inline,
        "compiler_options_kvs": compiler_options_kvs,
    }


def _donated(options: JitOptions, in_tree: Any, positions: Any) -> tuple[bool, ...]:
    """One flag a leaf: is its memory given away?"""
    args_tree, kwargs_tree = in_tree.children()
    children = args_tree.children()
    places = range(len(children)) if positions is None else positions
    flags: list[bool] = []
    for place, child in zip(places, children, strict=True):
        flags += [place in options.donate_argnums] * child.num_leaves
    keywords = kwargs_tree.node_data()[1] if kwargs_tree.node_data() else []
    for name, child in zip(keywords, kwargs_tree.children(), strict=True):
        flags += [name in options.donate_argnames] * child.num_leaves
    return tuple(flags)


def call_under_trace(
    fun: Callable[..., Any], options: JitOptions, args: tuple, kwargs: dict[str, Any]
) -> Any:
    """Calls a jitted function while something is being traced: records a `jit` equation.

    A function to be inlined is simply called: its equations are recorded one by one.
    """
    if options.inline:
        return fun(*args, **kwargs)
    program, leaves = trace_call(fun, options, args, kwargs)
    results = current.trace.process_primitive(jit_p, [*program.hoisted, *leaves], program.params)
    return pytrees.tree_unflatten(program.out_tree, results)


def jit(fun: Callable[..., Any], **options: Any) -> Callable[..., Any]:
    """The compiled form of a function, made by the evaluator in use.

    This is how the packages below olympus-xla declare their own functions as compiled; users call
    `olympus.jit`.

    Args:
      fun: the function.
      **options: as `jit_options` takes them.

    Example:
      >>> from olympus_ir import lax
      >>> jit(lambda x: lax.mul(x, x))(3.0)
      Array(9., dtype=float32, weak_type=True)
    """
    return evaluator().jit(fun, **options)
