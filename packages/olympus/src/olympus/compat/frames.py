# SPDX-License-Identifier: Apache-2.0
"""Finds the user's lines in tracebacks, under the names of JAX's private module."""

from __future__ import annotations

from collections.abc import Iterator

from olympus_ir._jaxlib import Traceback
from olympus_ir.diagnostics import source_info
from olympus_ir.diagnostics.name_stacks import no_names
from olympus_ir.diagnostics.source_info import Frame, SourceInfo

__all__ = ["user_frame", "user_frames"]


def user_frames(source: Traceback | SourceInfo | None) -> Iterator[Frame]:
    """Yields the frames of the user's code in a traceback, innermost first."""
    if not isinstance(source, SourceInfo):
        source = SourceInfo(source, no_names)
    return source_info.user_frames(source)


def user_frame(source: Traceback | SourceInfo | None) -> Frame | None:
    """Returns the innermost frame of the user's code in a traceback; None if there is none."""
    return next(user_frames(source), None)
