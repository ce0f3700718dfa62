# SPDX-License-Identifier: Apache-2.0
"""Origins of equations: the traceback of the user's call and the names given by scopes."""

from __future__ import annotations

import functools
import inspect
import itertools
import os
import types
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from .._jaxlib import Traceback
from .name_stacks import NameStack, no_names
from .name_stacks import TransformationName as TransformationName
from .name_stacks import name_stack_text as name_stack_text

capture = Traceback.get_traceback


class SourceInfo(NamedTuple):
    """The origin of one equation.

    Attributes:
      traceback: jaxlib's raw traceback, formatted only when it is shown; None if unknown.
      name_stack: the names of the enclosing scopes, outermost first.
    """

    traceback: Traceback | None
    name_stack: NameStack

    def replace(self, **changes: object) -> SourceInfo:
        return self._replace(**changes)

    def __reduce__(self) -> tuple[type[SourceInfo], tuple[None, NameStack]]:
        # Tracebacks belong to a process, so pickles contain only the names.
        return SourceInfo, (None, self.name_stack)


unknown_source = SourceInfo(None, no_names)


class Frame(NamedTuple):
    """One line of the user's program."""

    file_name: str
    function_name: str
    start_line: int
    start_column: int
    end_line: int
    end_column: int


# Folders of library code. All other code is the user's.
_library_folders: list[str] = []


def register_library_folder(path: str) -> None:
    """Marks all code in a folder or file as library code."""
    path = os.path.abspath(path)
    if not os.path.isfile(path):
        path = os.path.join(path, "")
    if path not in _library_folders:
        _library_folders.append(path)


register_library_folder(os.path.dirname(os.path.dirname(__file__)))


def is_user_file(file_name: str) -> bool:
    return not file_name.startswith(tuple(_library_folders)) and not file_name.startswith("<frozen")


def user_frames(source: SourceInfo) -> Iterator[Frame]:
    """Yields the frames of the user's code, innermost first."""
    if source.traceback is None:
        return
    for code, instruction in zip(*source.traceback.raw_frames(), strict=True):
        if is_user_file(code.co_filename):
            line, column, end_line, end_column = Traceback.code_addr2location(code, instruction)
            yield Frame(code.co_filename, code.co_qualname, line, column, end_line, end_column)


def user_frame(source: SourceInfo) -> Frame | None:
    """Returns the innermost frame of the user's code; None if there is none."""
    return next(user_frames(source), None)


def summarize(source: SourceInfo, frames: int = 1) -> str:
    """Returns ``file:line:column (function)`` of the user's innermost frames, or ``unknown``."""
    lines = [
        f"{frame.file_name}:{frame.start_line}:{frame.start_column} ({frame.function_name})"
        for frame in itertools.islice(user_frames(source), frames)
    ]
    return "\n".join(lines) or "unknown"


# ---- functions ----


def function_name(fun: Any) -> str:
    """Returns the name of a function as programs show it."""
    name = getattr(fun, "__name__", None)  # a partial application may have a name
    while name is None and isinstance(fun, functools.partial):
        fun = fun.func
        name = getattr(fun, "__name__", None)
    if isinstance(name, str):
        return name
    return getattr(type(fun), "__name__", "<unnamed function>")


def signature_of(fun: Callable[..., Any]) -> inspect.Signature:
    """Returns the signature of a function, in time linear in the number of its decorators.

    The attribute ``__signature__`` of a jitted function calls `inspect.signature`, which reads the
    attribute twice. Its time thus doubles with each `jit` around another. The wrapped functions
    are followed here first, up to one that stores a signature.

    Raises:
      TypeError: the object cannot be called, or the function stores an invalid signature.
      ValueError: the function has no signature.
    """
    return inspect.signature(inspect.unwrap(fun, stop=_stores_signature))


def _stores_signature(fun: Any) -> bool:
    return "__signature__" in getattr(fun, "__dict__", ())


class FunctionOrigin:
    """Name and line of a function for error messages.

    An instance holds the code of the function and not the function itself. Cached programs must not
    keep the user's function, or the values that it closes over, alive.

    Attributes:
      name: the function's name.
      code: the code object; None for functions that are not written in Python.
      num_bound: the number of positional parameters that are already bound (``self`` of methods,
        the positional arguments of partial applications).
      bound_names: the parameters that a partial application binds by name.
    """

    __slots__ = ("bound_names", "code", "name", "num_bound")

    def __init__(self, fun: Any) -> None:
        self.name = function_name(fun)
        self.num_bound = 0
        self.bound_names: frozenset[str] = frozenset()
        for _ in range(100):  # a longer chain of wrappers must be circular
            if isinstance(fun, functools.partial):
                self.num_bound += len(fun.args)
                self.bound_names |= fun.keywords.keys()
                fun = fun.func
            elif isinstance(fun, types.MethodType):
                self.num_bound += 1
                fun = fun.__func__
            elif callable(wrapped := getattr(fun, "__wrapped__", None)):
                fun = wrapped
            else:
                break
        code = getattr(fun, "__code__", None)
        if code is None and not isinstance(fun, type):
            code = getattr(type(fun).__call__, "__code__", None) if callable(fun) else None
            self.num_bound += 1
        self.code = code if isinstance(code, types.CodeType) else None

    @property
    def description(self) -> str:
        """Returns ``name at file:line``, or the name alone if the line is unknown."""
        if self.code is None:
            return self.name
        return f"{self.name} at {self.code.co_filename}:{self.code.co_firstlineno}"

    def positional_name(self, position: int) -> str:
        """Returns the name of the parameter that binds the argument at ``position``."""
        code = self.code
        if code is not None:
            index = position + self.num_bound
            if index < code.co_argcount:
                return code.co_varnames[index]
            if code.co_flags & _TAKES_POSITIONALS:
                name = code.co_varnames[code.co_argcount + code.co_kwonlyargcount]
                return f"{name}[{index - max(code.co_argcount, self.num_bound)}]"
        return f"args[{position}]"

    def keyword_name(self, name: str) -> str:
        """Returns the parameter of a keyword argument, ``kwargs['name']`` for a ``**kwargs``."""
        code = self.code
        if code is not None:
            count = code.co_argcount + code.co_kwonlyargcount
            if name not in code.co_varnames[code.co_posonlyargcount : count]:
                last = count + bool(code.co_flags & _TAKES_POSITIONALS)
                takes_keywords = code.co_flags & _TAKES_KEYWORDS
                keywords = code.co_varnames[last] if takes_keywords else "kwargs"
                return f"{keywords}['{name}']"
        return name


# The values of inspect.CO_VARARGS and inspect.CO_VARKEYWORDS, without the slow import of inspect.
_TAKES_POSITIONALS = 0x04
_TAKES_KEYWORDS = 0x08
