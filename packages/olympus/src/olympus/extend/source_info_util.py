# SPDX-License-Identifier: Apache-2.0
"""Source locations of equations: lines of the user's program, and names of scopes."""

from __future__ import annotations

from typing import Any

from olympus_ir.adapters.name_scopes import extend_name_stack as extend_name_stack
from olympus_ir.adapters.name_scopes import reset_name_stack as reset_name_stack
from olympus_ir.adapters.name_scopes import set_name_stack as set_name_stack
from olympus_ir.adapters.name_scopes import transform_name_stack as transform_name_stack
from olympus_ir.adapters.name_scopes import user_context as user_context
from olympus_ir.diagnostics import source_info as _source_info
from olympus_ir.diagnostics.name_stacks import NameStack as NameStack
from olympus_ir.diagnostics.source_info import SourceInfo as SourceInfo
from olympus_ir.diagnostics.traceback_filtering import register_exclusion as register_exclusion
from olympus_ir.programs import tracing as _tracing

from .. import _lazy

__all__ = [
    "NameStack",
    "SourceInfo",
    "current",
    "current_name_stack",
    "extend_name_stack",
    "new_name_stack",
    "new_source_info",
    "register_exclusion",
    "reset_name_stack",
    "set_name_stack",
    "summarize",
    "transform_name_stack",
    "user_context",
]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {})


def current() -> SourceInfo:
    """Returns the source location of the caller, or of the equation being applied."""
    source = _tracing.current.source
    return SourceInfo(_source_info.capture(), current_name_stack()) if source is None else source


def new_source_info() -> SourceInfo:
    """Returns an empty source location."""
    return _source_info.unknown_source


def new_name_stack(name: str = "") -> NameStack:
    """Returns a name stack of one scope, or an empty one.

    Args:
      name: the name of the scope; the empty string makes an empty stack.

    Returns:
      A `NameStack`.

    Example:
      >>> print(new_name_stack("layer").transform("vmap").extend("product"))
      layer/vmap(product)
    """
    return NameStack((name,)) if name else NameStack()


def current_name_stack() -> NameStack:
    """Returns the stack of enclosing scopes, outermost first."""
    return _tracing.current.name_stack


def summarize(source_info: Any, num_frames: int = 1) -> str:
    """Returns the innermost lines of the user's program as text.

    Args:
      source_info: the source location.
      num_frames: the number of lines.

    Returns:
      The text, one line for each frame.
    """
    return _source_info.summarize(source_info, num_frames)
