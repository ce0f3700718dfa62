# SPDX-License-Identifier: Apache-2.0
"""Calls of the rules of users' functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ...diagnostics.source_info import is_user_file
from ..tracing import current

__all__ = ["call_rule"]


def call_rule(rule: Callable[..., Any], *args: Any) -> Any:
    """Calls a rule of a user's function, such as its backward pass.

    Operations that are recorded while a program is evaluated get the lines of the program's
    equations. The operations of a rule in a user's file get their own lines instead.

    Args:
      rule: the rule.
      *args: its arguments.

    Example:
      >>> call_rule(lambda x, y: x + y, 1, 2)
      3
    """
    source, names = current.source, current.name_stack
    code = getattr(rule, "__code__", None)
    if source is None or code is None or not is_user_file(code.co_filename):
        return rule(*args)
    current.source, current.name_stack = None, source.name_stack
    try:
        return rule(*args)
    finally:
        current.source, current.name_stack = source, names
