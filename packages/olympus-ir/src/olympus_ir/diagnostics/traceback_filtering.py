# SPDX-License-Identifier: Apache-2.0
"""Filtering of tracebacks, which then show the user's lines and not OLYMPUS's.

A public function that calls user code, or is called from it, is wrapped in `api_boundary`. When an
exception passes the boundary, the frames of library code are removed. The flag
``olympus_traceback_filtering`` selects the mode; ``off`` keeps all frames.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Mapping
from types import FunctionType, TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ..loading import deferred
from ..settings.config_flags import traceback_filtering
from ..settings.configuration import Configuration, State
from ..settings.naming import naming
from .source_info import is_user_file, register_library_folder

if TYPE_CHECKING:
    import traceback

    from . import flag_arguments, keyword_arguments
else:
    traceback = deferred("traceback", milliseconds=0.6)
    flag_arguments = deferred(".flag_arguments", milliseconds=0.5)
    keyword_arguments = deferred(".keyword_arguments", milliseconds=0.5)

__all__ = [
    "UnfilteredStackTrace",
    "api_boundary",
    "behind_boundary",
    "boundary_class",
    "boundary_members",
    "filter_exception",
    "filter_text",
    "filter_traceback",
    "include_frame",
    "is_boundary",
    "register_exclusion",
]

F = TypeVar("F", bound=Callable[..., Any])
C = TypeVar("C", bound=type)

NOTE = (
    "--------------------\n"
    "OLYMPUS's own frames were removed from this traceback; set OLYMPUS_TRACEBACK_FILTERING=off to "
    "see them."
)


class UnfilteredStackTrace(Exception):
    """Exception that keeps an error's complete traceback, in the mode ``remove_frames``.

    It becomes the cause of the error, and takes over the error's own cause and context.

    Attributes:
        shown: the filtered traceback of the error.
    """

    shown: TracebackType | None = None


def register_exclusion(path: str) -> None:
    """Hides the frames of a file, or of all files in a folder, in tracebacks.

    Args:
        path: the file or folder. Packages built on OLYMPUS register their own folders.

    Example:
        >>> register_exclusion("/opt/my_library")
    """
    register_library_folder(path)


def include_frame(frame: Any) -> bool:
    """Returns whether tracebacks show a frame."""
    file_name = frame.f_code.co_filename
    # Context managers written as generators put frames of contextlib between library frames.
    return is_user_file(file_name) and file_name != contextlib.__file__


def filter_traceback(tb: TracebackType | None, is_below: bool = False) -> TracebackType | None:
    """Returns a traceback without the hidden frames; None if no frames are left.

    Args:
        tb: the traceback.
        is_below: whether library code called the first frame. If so, leading frames of packages
            such as NumPy count as library code too.
    """
    shown = []
    while tb is not None:
        is_below = not include_frame(tb.tb_frame) or (is_below and _is_helper(tb.tb_frame))
        if not is_below:
            shown.append(tb)
        tb = tb.tb_next
    result = None
    for entry in reversed(shown):
        if entry.tb_next is not result:
            entry = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
        result = entry
    return result


def filter_text(text: str) -> str:
    """Returns a text that contains a traceback, without the hidden frames and the note on them.

    Example:
        >>> print(filter_text('File "a.py", line 1, in f\\n    g()\\nKeyError: 0'))
        File "a.py", line 1, in f
            g()
        KeyError: 0
    """
    if _mode() == "off":
        return text
    shown: list[str] = []
    hides = False
    for line in text.replace(NOTE, "").rstrip().splitlines():
        words = line.lstrip().split('"')
        if words[0] == "File " and len(words) > 2:
            hides = not is_user_file(words[1])
        elif not line.startswith("    "):  # lines of code are indented
            hides = False
        if not hides:
            shown.append(line)
    return "\n".join(shown)


def _is_helper(frame: Any) -> bool:
    """Returns whether a frame belongs to a package that library code uses, such as NumPy."""
    return frame.f_globals.get("__name__", "").partition(".")[0] in _HELPERS


_HELPERS = frozenset({"jaxlib", "ml_dtypes", "numpy", "opt_einsum", "scipy", "string"})


def _mode() -> str:
    mode = traceback_filtering.value
    if mode != "auto":
        return mode
    return "tracebackhide" if _ipython_hides_frames() else "quiet_remove_frames"


def _ipython_hides_frames() -> bool:
    """Returns whether the program runs under IPython 7.17 or later, which omits marked frames."""
    ipython = sys.modules.get("IPython")
    return (
        ipython is not None
        and ipython.version_info[:2] >= (7, 17)
        and ipython.get_ipython() is not None
    )


def filter_exception(error: BaseException) -> None:
    """Filters the traceback of an error in place, in the configured mode."""
    mode = _mode()
    if mode == "off":
        return
    if mode == "tracebackhide":
        tb = error.__traceback__
        while tb is not None:
            if not include_frame(tb.tb_frame):
                tb.tb_frame.f_locals["__tracebackhide__"] = True
            tb = tb.tb_next
        return
    filtered = filter_traceback(error.__traceback__)
    if mode == "remove_frames":
        _keep_all_frames(error, filtered)
    else:
        _unchain(error, filtered)
    error.__traceback__ = filtered
    if NOTE not in getattr(error, "__notes__", ()):
        error.add_note(NOTE)


def _unchain(error: BaseException, shown: TracebackType | None) -> None:
    """Removes the previous error from an error's chain, if that error never left the library.

    Args:
        error: the error.
        shown: the error's filtered traceback; None if the library raised the error.
    """
    if _is_raised_by_user(error):  # keep the chain of an error that the user's code raised
        return
    before = error.__cause__
    if before is None and not error.__suppress_context__:
        before = error.__context__
    if before is None or (before.__traceback__ is None and shown is not None):
        return
    if filter_traceback(before.__traceback__, is_below=True) is None:
        error.__cause__ = error.__context__ = None


def _is_raised_by_user(error: BaseException) -> bool:
    entry = error.__traceback__
    while entry is not None and entry.tb_next is not None:
        entry = entry.tb_next
    return entry is not None and include_frame(entry.tb_frame) and not _is_helper(entry.tb_frame)


def _keep_all_frames(error: BaseException, filtered: TracebackType | None) -> None:
    """Keeps the whole traceback of an error in the error's cause."""
    cause, entry = error.__cause__, error.__traceback__
    # an inner boundary has already filtered the frames below
    if isinstance(cause, UnfilteredStackTrace):
        outer: list[TracebackType] = []
        while entry is not None and entry is not cause.shown:
            outer.append(entry)
            entry = entry.tb_next
        whole = cause.__traceback__
        for entry in reversed(outer):
            whole = TracebackType(whole, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
        cause.__traceback__ = whole
    else:
        text = "".join(traceback.format_exception_only(error)).strip()
        whole, cause = (
            entry,
            UnfilteredStackTrace(
                f"{text}\n\nThe stack trace below excludes {naming.library}-internal frames.\n"
                "The preceding is the original exception that occurred, unmodified."
            ),
        )
        cause.__cause__, cause.__context__ = error.__cause__, error.__context__
        cause.__suppress_context__ = error.__suppress_context__
        cause.__traceback__ = whole
        error.__cause__ = cause
    cause.shown = filtered


def api_boundary(fun: F) -> F:
    """Decorator of public functions: hides library frames in errors that leave ``fun``.

    If ``fun`` returns without an error, the decorator costs one Python call.

    Example:
        >>> @api_boundary
        ... def transform(function):
        ...     return function()
        >>> transform(lambda: 1)
        1
    """

    @functools.wraps(fun)
    def with_filtered_tracebacks(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True
        try:
            return fun(*args, **kwargs)
        except Exception as error:
            if type(error) is TypeError and "unexpected keyword" in str(error):
                keyword_arguments.advise(error, fun)
            elif type(error) is ValueError and "truth value of an array" in str(error):
                flag_arguments.name_flags(error, fun, args, kwargs)
            elif type(error) is SystemError and isinstance(error.__cause__, RecursionError):
                # A tree was too deep for jaxlib. The RecursionError appears only as the cause of a
                # SystemError in a later call, so the cause is raised instead.
                raise error.__cause__.with_traceback(None) from None
            filter_exception(error)
            # A bare raise keeps the filtered traceback, without an entry for this frame.
            raise

    return with_filtered_tracebacks  # type: ignore[return-value]


_BOUNDARY = api_boundary(len).__code__


def is_boundary(fun: Any) -> bool:
    """Returns whether a function was made by `api_boundary`."""
    return getattr(fun, "__code__", None) is _BOUNDARY


def behind_boundary(fun: Any) -> Any:
    """Returns the function inside a wrapper made by `api_boundary`, and other objects unchanged.

    Example:
        >>> behind_boundary(api_boundary(len)) is behind_boundary(len) is len
        True
    """
    return fun.__wrapped__ if is_boundary(fun) else fun


def boundary_members(members: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the members of a class with `api_boundary` around methods and properties.

    Args:
        members: functions, properties and other members by name. Private names and functions that
            are not written in Python are left unchanged.

    Example:
        >>> members = boundary_members({"twice": lambda self: 2 * self, "_half": abs})
        >>> is_boundary(members["twice"]), members["twice"](3)
        (True, 6)
    """
    return {name: _boundary_member(name, member) for name, member in members.items()}


def _boundary_member(name: str, member: Any) -> Any:
    if name[0] == "_" and not name.startswith("__"):
        return member
    if type(member) is property and type(member.fget) is FunctionType:
        return member.getter(api_boundary(member.fget))
    if isinstance(member, staticmethod | classmethod) and not is_boundary(member.__func__):
        return type(member)(api_boundary(member.__func__))
    if type(member) is FunctionType and not is_boundary(member):
        return api_boundary(member)
    return member


# Members that are left unwrapped, because Python calls them implicitly.
_UNTOUCHED = frozenset(
    {"__getattr__", "__getattribute__", "__init_subclass__", "__new__", "__repr__"}
)


def boundary_class(kind: C) -> C:
    """Decorator of public classes: hides library frames in errors that leave their members."""
    for name, member in boundary_members(vars(kind)).items():
        if name not in _UNTOUCHED and member is not vars(kind)[name]:
            setattr(kind, name, member)
    return kind


# The package `settings` may not import this module, so its classes are decorated here.
for _kind in (Configuration, State):
    boundary_class(_kind)
Configuration.__getattr__ = api_boundary(Configuration.__getattr__)  # unknown flags
