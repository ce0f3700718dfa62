# SPDX-License-Identifier: Apache-2.0
"""Tracing of calls, and the cache of traced programs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ..._jaxlib import config_trace_context
from ...diagnostics import phases
from ...diagnostics.debug_info import DebugInfo
from ...loading import deferred
from ...settings.config_states import explain_cache_misses, no_tracing
from ...settings.naming import naming
from ...trees.flattening import FlatFunction, debug_info_of_tree, function_name
from ...trees.function_caches import FunctionCache, keep
from ...trees.operands import flatten_operands
from ...types.avals import AbstractValue, argument_aval, aval_getters, get_aval
from ...types.placement import UNSPECIFIED, no_mesh
from ..olympuspr import ClosedOlympuspr
from ..staging import separate_constants, trace_to_olympuspr
from ..tracing import current, evaluation_trace, find_tracers
from .options import JitOptions
from .trace_history import forget_trace, record_trace
from .trace_keys import TraceKey
from .traced_programs import TracedProgram, traced_program

if TYPE_CHECKING:
    from . import cache_misses, trace_limits
else:
    cache_misses = deferred(".cache_misses", milliseconds=0.5)
    trace_limits = deferred(".trace_limits", milliseconds=0.5)

__all__ = ["argument_avals", "bind_statics", "check_tracing_allowed", "jit_params", "trace_call"]

# For each function, maps each `TraceKey` to the traced program.
_programs = FunctionCache()
# The maximal number of programs of a function, so that calls with ever new shapes do not fill the
# memory.
_MOST_PROGRAMS = 4096


class _Unfinished(threading.local):
    """The unfinished traces of a thread, as pairs of a function's identity and a key."""

    def __init__(self) -> None:
        self.traces: list[tuple[int, TraceKey]] = []


_unfinished = _Unfinished()


def trace_call(
    fun: Callable[..., Any],
    options: JitOptions,
    args: tuple,
    kwargs: dict[str, Any],
    *,
    abstract: bool = False,
) -> tuple[TracedProgram, list[Any]]:
    """Traces a call, or returns the cached program for arguments of the same types.

    Args:
      fun: the function.
      options: the function's options.
      args: the positional arguments.
      kwargs: the keyword arguments.
      abstract: whether leaves may be any objects with shape and dtype instead of arrays.

    Returns:
      The program and the flat operands, without the hoisted values.

    Raises:
      ValueError: if static arguments are missing or cannot be hashed.
      TypeError: if an operand is not an array.
    """
    called, statics, positions = fun, (), None
    if options.static_argnums or options.static_argnames:
        called, args, kwargs, statics, positions = bind_statics(fun, options, args, kwargs)
    leaves, in_tree = flatten_operands((args, kwargs))
    avals = argument_avals(fun, in_tree, leaves, positions, abstract)
    programs = _programs.of(fun)
    # A hit needs no `TraceKey`: the plain tuple equals it, and is made faster.
    fields = (options, in_tree, avals, statics, current.axes, config_trace_context())
    program = programs.get(fields)
    if program is None:
        key = TraceKey(*fields)
        if explain_cache_misses.value:
            cache_misses.explain(
                fun, debug_info_of_tree("jit", fun, in_tree, positions), key, programs
            )
        if options.max_traces is not None:
            trace_limits.check(fun, options, programs, key, positions)
        program = _trace_and_record(fun, called, key, positions)
        # A program that closes over active tracers cannot be reused by later calls.
        if not find_tracers(program.hoisted):
            keep(programs, key, program, _MOST_PROGRAMS)
        elif program.record is not None:
            program.record.is_kept = False
    program.check_operands(leaves)
    return program, leaves


class DynamicCall(NamedTuple):
    """Call of a function without its static arguments.

    Attributes:
      fun: the function of the dynamic arguments.
      args: the dynamic positional arguments.
      kwargs: the dynamic keyword arguments.
      statics: the static arguments; see `TraceKey`.
      positions: the original positions of the dynamic positional arguments.
    """

    fun: Callable[..., Any]
    args: tuple
    kwargs: dict[str, Any]
    statics: tuple
    positions: list[int]


def bind_statics(
    fun: Callable[..., Any], options: JitOptions, args: tuple, kwargs: dict[str, Any]
) -> DynamicCall:
    """Binds the static arguments of a call.

    Raises:
      ValueError: a static argument cannot be hashed.
    """
    count = len(args)
    static_numbers = sorted(
        {number % count for number in options.static_argnums if -count <= number < count}
    )
    static_kwargs = {name: kwargs[name] for name in options.static_argnames if name in kwargs}
    static_args = [(number, args[number]) for number in static_numbers]
    for place, value in [*static_args, *static_kwargs.items()]:
        try:
            hash(value)
        except TypeError:
            raise ValueError(
                "Non-hashable static arguments are used in a jit function: argument "
                f"{place!r} is {value!r} of type {type(value)}. Static arguments are compiled in "
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

    statics = (
        count,
        tuple((number, type(value), value) for number, value in static_args),
        tuple((name, type(value), value) for name, value in sorted(static_kwargs.items())),
    )
    return DynamicCall(function_of_dynamic, dynamic_args, dynamic_kwargs, statics, positions)


def argument_avals(
    fun: Any, in_tree: Any, leaves: Sequence[Any], positions: Any, abstract: bool = False
) -> tuple[AbstractValue, ...]:
    """Returns the types of the leaves of arguments.

    Raises:
      TypeError: a leaf is not an array; the message names the argument.
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
    """Raises RuntimeError if the configuration forbids tracing."""
    if no_tracing.value:
        raise RuntimeError(
            f"re-tracing function {info.func_src_info} for `{info.traced_for}`, but 'no_tracing' "
            "is set"
        )


def _trace_and_record(
    fun: Callable[..., Any],
    called: Callable[..., Any],
    key: TraceKey,
    positions: Sequence[int] | None,
) -> TracedProgram:
    """Traces a call, with a record for explanations if the function is the user's.

    Args:
      fun: the function.
      called: the function of the dynamic arguments.
      key: the key of the program.
      positions: the positions of the dynamic positional arguments; None for all.
    """
    info = debug_info_of_tree("jit", fun, key.in_tree, positions)
    check_tracing_allowed(info)
    trace = id(fun), key
    if trace in _unfinished.traces:
        raise _endless_recursion(info)
    record = record_trace(fun, key, info)
    began = time.perf_counter()
    _unfinished.traces.append(trace)
    try:
        program = _trace_program(fun, called, key, positions, info)
    except BaseException:
        forget_trace(record)
        raise
    finally:
        _unfinished.traces.pop()
    if record is not None:
        record.seconds = time.perf_counter() - began
        program.record = record
    return program


def _endless_recursion(info: DebugInfo) -> RecursionError:
    name = info.func_name
    return RecursionError(
        f"Recursively calling {info.func_src_info}: the function calls itself with arguments of "
        "the same types while it is traced, which would never end. A condition on traced values "
        "cannot end it, because the branches of `lax.cond` are all traced. Loop with "
        f"`{naming.module}.lax.while_loop` or `fori_loop`; or make the argument that counts "
        f"static, `jit({name}, static_argnums=...)`, and end the recursion with `if`."
    )


def _trace_program(
    fun: Callable[..., Any],
    called: Callable[..., Any],
    key: TraceKey,
    positions: Sequence[int] | None,
    info: DebugInfo,
) -> TracedProgram:
    options, in_tree, avals = key.options, key.in_tree, key.avals
    flat = FlatFunction(called, in_tree)
    if current.trace is evaluation_trace:
        with phases.tracing(function_name(fun)):
            olympuspr, constants = trace_to_olympuspr(flat, avals, info)
    else:  # Within another trace, the time is not reported separately.
        olympuspr, constants = trace_to_olympuspr(flat, avals, info)
    out_tree = flat.out_tree
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
    return traced_program(closed, out_tree, params, hoisted, in_tree)


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
    """Returns the parameters of a `jit` equation, except the program and the placement."""
    return {
        "in_shardings": (UNSPECIFIED,) * num_inputs,
        "out_shardings": (UNSPECIFIED,) * num_outputs,
        "in_layouts": (None,) * num_inputs,
        "out_layouts": (None,) * num_outputs,
        "donated_invars": donated_invars or (False,) * num_inputs,
        "ctx_mesh": no_mesh.mesh,
        "name": name,
        "keep_unused": keep_unused,
        "inline": inline,
        "compiler_options_kvs": compiler_options_kvs,
    }


def _donated(
    options: JitOptions, in_tree: Any, positions: Sequence[int] | None
) -> tuple[bool, ...]:
    """Returns for each leaf whether its memory is donated."""
    args_tree, kwargs_tree = in_tree.children()
    arguments = args_tree.children()
    flags: list[bool] = []
    places = range(len(arguments)) if positions is None else positions
    for position, child in zip(places, arguments, strict=True):
        flags += [position in options.donate_argnums] * child.num_leaves
    keywords = kwargs_tree.node_data()[1] if kwargs_tree.node_data() else []
    for name, child in zip(keywords, kwargs_tree.children(), strict=True):
        flags += [name in options.donate_argnames] * child.num_leaves
    return tuple(flags)
