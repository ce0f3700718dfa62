# SPDX-License-Identifier: Apache-2.0
"""Tracebacks of errors show the user's lines and not OLYMPUS's.

A public function that calls user code, or is called from it, is wrapped in `api_boundary`. When an
exception passes, the frames below the boundary that lie in a library folder are taken out. The flag
``olympus_traceback_filtering`` selects the way; ``off`` keeps the frames.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from ..loading import deferred
from ..settings.config_flags import traceback_filtering
from ..settings.naming import naming
from .source_info import is_user_file, register_library_folder

if TYPE_CHECKING:
    import traceback
else:
    traceback = deferred("traceback", milliseconds=0.6)

__all__ = [
    "UnfilteredStackTrace",
    "api_boundary",
    "filter_exception",
    "filter_traceback",
    "include_frame",
    "register_exclusion",
]

F = TypeVar("F", bound=Callable[..., Any])

NOTE = (
    "--------------------\n"
    "OLYMPUS's own frames were removed from this traceback; set OLYMPUS_TRACEBACK_FILTERING=off to "
    "see them."
)


class UnfilteredStackTrace(Exception):
    """Cause of an error in the mode ``remove_frames``, whose traceback has all frames.

    The error's own cause and context become those of this exception.

    Attributes:
        shown: the filtered traceback of the error.
    """

    shown: TracebackType | None = None


def register_exclusion(path: str) -> None:
    """Leaves the frames of a file, or of all files below a folder, out of tracebacks.

    Args:
        path: the file or folder. Packages built on OLYMPUS register their own.

    Example:
        >>> register_exclusion("/opt/my_library")
    """
    register_library_folder(path)


def include_frame(frame: Any) -> bool:
    """Returns whether tracebacks show a frame."""
    file_name = frame.f_code.co_filename
    # Context managers written as generators put frames of contextlib between ours.
    return is_user_file(file_name) and file_name != contextlib.__file__


def filter_traceback(tb: TracebackType | None) -> TracebackType | None:
    """Returns a traceback without the hidden frames; None if no frames are left."""
    shown = []
    while tb is not None:
        if include_frame(tb.tb_frame):
            shown.append(tb)
        tb = tb.tb_next
    result = None
    for entry in reversed(shown):
        if entry.tb_next is not result:
            entry = TracebackType(result, entry.tb_frame, entry.tb_lasti, entry.tb_lineno)
        result = entry
    return result


def _mode() -> str:
    mode = traceback_filtering.value
    if mode != "auto":
        return mode
    return "tracebackhide" if _ipython_hides_frames() else "quiet_remove_frames"


def _ipython_hides_frames() -> bool:
    """Returns whether the program runs under an IPython that omits marked frames (since 7.17)."""
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
    error.__traceback__ = filtered
    if NOTE not in getattr(error, "__notes__", ()):
        error.add_note(NOTE)


def _keep_all_frames(error: BaseException, filtered: TracebackType | None) -> None:
    """Keeps the whole traceback in the cause of an error."""
    cause, entry = error.__cause__, error.__traceback__
    if isinstance(cause, UnfilteredStackTrace):  # an inner function has filtered the frames below
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
    """Decorator of public functions: hides our frames in errors that leave ``fun``.

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
            filter_exception(error)
            # A bare raise takes the traceback as it now is, without an entry for this frame.
            raise

    return with_filtered_tracebacks  # type: ignore[return-value]
