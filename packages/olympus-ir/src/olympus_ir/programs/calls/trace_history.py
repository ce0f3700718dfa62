# SPDX-License-Identifier: Apache-2.0
"""Records of the traces and compilations of users' functions, for explanations.

A record is made when a function is traced. A call of a compiled function records nothing. A record
refers to the function weakly. It holds a `Glimpse` of each closed-over value, which keeps no array
alive. The number of records is bounded.
"""

from __future__ import annotations

import collections
import functools
import itertools
import types
import weakref
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from ...diagnostics import source_info
from ...diagnostics.debug_info import DebugInfo
from .glimpses import Glimpse
from .trace_keys import TraceKey

__all__ = [
    "Compilation",
    "TraceRecord",
    "forget_trace",
    "histories",
    "history_of",
    "next_number",
    "record_trace",
    "surroundings",
    "traced_function",
]

#: The code of a function and of the functions that it wraps. Functions defined again at one line of
#: the program have equal codes.
Codes: TypeAlias = tuple[types.CodeType, ...]

_MOST_FUNCTIONS = 2048
_MOST_RECORDS = 64
_numbers = itertools.count()

# Maps each function of the user's program, given by its `Codes`, to its trace records.
histories: dict[Codes, collections.deque[TraceRecord]] = {}


def next_number() -> int:
    """Returns the sequence number of the next event; later events have greater numbers."""
    return next(_numbers)


class Compilation:
    """The compilation of a traced program for one placement.

    Attributes:
      number: the position among all traces and compilations.
      placement: descriptions of the current mesh, of the default sharding, and of the sharding of
        each operand. Shardings are not stored, because a sharding keeps the client of its devices
        alive.
    """

    __slots__ = ("number", "placement")

    def __init__(self, placement: Sequence[Any]) -> None:
        self.number = next_number()
        self.placement = [_placement_text(entry) for entry in placement]


def _placement_text(sharding: Any) -> str:
    if sharding is None:
        return "not committed to devices"
    devices = getattr(sharding, "_device_assignment", ())
    if len(devices) < 2:
        return str(sharding)
    return f"{sharding} on devices {', '.join(str(device.id) for device in devices)}"


class TraceRecord:
    """One trace of a function.

    Attributes:
      number: the position among all traces and compilations.
      function: a weak reference to the function; None if its type has no weak references.
      function_id: the identity of the function.
      codes: the code of the function and of the functions that it wraps.
      options: the options of `jit`.
      in_tree: the structure of ``(args, kwargs)`` without static arguments.
      avals: the types of the leaves.
      statics: a `Glimpse` of each static argument, by position or name.
      num_positional: the number of positional arguments.
      axes: the named axes in scope.
      context: the configuration that programs depend on.
      surroundings: a `Glimpse` of each value that the function closes over, by kind and name.
      debug_info: the names of the arguments.
      traceback: the place of the call.
      seconds: the duration of the trace.
      is_kept: whether later calls may use the program.
      compilations: the compilations of the program.
    """

    __slots__ = (
        "avals",
        "axes",
        "codes",
        "compilations",
        "context",
        "debug_info",
        "function",
        "function_id",
        "in_tree",
        "is_kept",
        "num_positional",
        "number",
        "options",
        "seconds",
        "statics",
        "surroundings",
        "traceback",
    )

    def __init__(
        self, chain: Sequence[Any], codes: Codes, key: TraceKey, debug_info: DebugInfo
    ) -> None:
        fun = chain[0]
        is_method = isinstance(fun, types.MethodType)
        self.number = next_number()
        try:
            self.function: Any = weakref.WeakMethod(fun) if is_method else weakref.ref(fun)
        except TypeError:
            self.function = None
        self.function_id = id(fun.__self__) if is_method else id(fun)
        self.codes = codes
        self.options = key.options
        self.in_tree = key.in_tree
        self.avals = key.avals
        self.axes = key.axes
        self.context = key.context
        self.statics: dict[int | str, Glimpse] = {}
        self.num_positional: int | None = None
        if key.statics:
            self.num_positional, positional, keyword = key.statics
            for place, _, value in (*positional, *keyword):
                self.statics[place] = Glimpse(value)
        self.surroundings = _surroundings(chain)
        self.debug_info = debug_info
        self.traceback = source_info.capture()
        self.seconds = 0.0
        self.is_kept = True
        self.compilations: list[Compilation] = []


def record_trace(
    fun: Callable[..., Any], key: TraceKey, debug_info: DebugInfo
) -> TraceRecord | None:
    """Records the start of a trace, if the function belongs to the user's program.

    Args:
      fun: the function.
      key: the key of the program.
      debug_info: the names of the arguments.
    """
    chain = _chain(fun)
    codes = _codes(chain)
    if not codes or not source_info.is_user_file(codes[-1].co_filename):
        return None
    history = histories.get(codes)
    if history is None:
        while len(histories) >= _MOST_FUNCTIONS:
            histories.pop(next(iter(histories)), None)
        history = histories[codes] = collections.deque(maxlen=_MOST_RECORDS)
    record = TraceRecord(chain, codes, key, debug_info)
    history.append(record)
    return record


def forget_trace(record: TraceRecord | None) -> None:
    """Removes the record of a trace that has failed."""
    history = None if record is None else histories.get(record.codes)
    if history is not None and record in history:
        history.remove(record)


def history_of(fun: Callable[..., Any]) -> list[TraceRecord]:
    """Returns the records of a function, and of other functions defined at the same line.

    Args:
      fun: the function, or its jitted form.
    """
    return list(histories.get(_codes(_chain(traced_function(fun))), ()))


def traced_function(fun: Callable[..., Any]) -> Callable[..., Any]:
    """Returns the function inside a jitted function; other functions are returned unchanged."""
    return getattr(fun, "__wrapped__", fun) if hasattr(fun, "_olympus_options") else fun


def _chain(fun: Any) -> list[Any]:
    """Returns the function and the functions that it wraps, innermost last."""
    chain = [fun]
    while len(chain) < 100:  # a longer chain of wrappers must be circular
        if isinstance(fun, functools.partial):
            fun = fun.func
        elif isinstance(fun, types.MethodType):
            fun = fun.__func__
        else:
            fun = getattr(fun, "__wrapped__", None)
            if fun is None:
                break
        chain.append(fun)
    return chain


def _codes(chain: Sequence[Any]) -> Codes:
    codes = []
    for link in chain:
        code = getattr(link, "__code__", None)
        if code is None and not isinstance(link, type | functools.partial):
            code = getattr(type(link).__call__, "__code__", None)
        if isinstance(code, types.CodeType) and code not in codes[-1:]:
            codes.append(code)
    return tuple(codes)


def surroundings(fun: Callable[..., Any]) -> dict[tuple[str, str], Glimpse]:
    """Returns a `Glimpse` of each value that a function reads besides its arguments.

    The values are closure cells, globals, bound arguments and defaults. Keys are pairs of kind and
    name.
    """
    return _surroundings(_chain(fun))


def _surroundings(chain: Sequence[Any]) -> dict[tuple[str, str], Glimpse]:
    glimpses: dict[tuple[str, str], Glimpse] = {}
    for link in chain:
        if isinstance(link, functools.partial):
            for position, value in enumerate(link.args):
                glimpses["partial argument", str(position)] = Glimpse(value)
            for name, value in link.keywords.items():
                glimpses["partial argument", name] = Glimpse(value)
        elif isinstance(link, types.FunctionType) and source_info.is_user_file(
            link.__code__.co_filename
        ):
            _add_surroundings_of(link, glimpses)
    return glimpses


def _add_surroundings_of(fun: types.FunctionType, glimpses: dict[tuple[str, str], Glimpse]) -> None:
    for name, cell in zip(fun.__code__.co_freevars, fun.__closure__ or (), strict=True):
        try:
            glimpses["closure cell", name] = Glimpse(cell.cell_contents)
        except ValueError:  # the variable has no value yet
            pass
    for position, value in enumerate(fun.__defaults__ or ()):
        glimpses["default", str(position)] = Glimpse(value)
    variables = fun.__globals__
    for name in _global_names(fun.__code__):
        value = variables.get(name, fun)
        try:
            if value is not fun and not isinstance(value, types.ModuleType | type):
                glimpses["global", name] = Glimpse(value)
        except Exception:  # some proxy objects raise on any access
            pass


@functools.lru_cache(maxsize=_MOST_FUNCTIONS)
def _global_names(code: types.CodeType) -> tuple[str, ...]:
    """Returns the names of globals and attributes in code and in its inner code."""
    names = dict.fromkeys(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names.update(dict.fromkeys(_global_names(constant)))
    return tuple(names)
