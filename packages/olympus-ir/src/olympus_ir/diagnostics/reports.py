# SPDX-License-Identifier: Apache-2.0
"""Slots for reports that a package above provides, found by the entry points ``olympus.reports``.

Programs, shardings and executables show themselves in notebooks, and errors explain themselves, if
olympus-insight is installed. Nothing here is looked for before it is needed.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ..loading import deferred

if TYPE_CHECKING:
    from importlib import metadata
else:
    metadata = deferred("importlib.metadata", milliseconds=8.0)

__all__ = ["html_of", "report_named"]

_GROUP = "olympus.reports"


@functools.cache
def report_named(name: str) -> Callable[..., Any] | None:
    """Returns the function that makes a report; None if no installed package provides it.

    Args:
      name: the name of the entry point.
    """
    found = metadata.entry_points(group=_GROUP, name=name)
    return next(iter(found)).load() if found else None


def html_of(value: Any) -> str | None:
    """Returns a value as a piece of HTML for notebooks; None if no installed package makes one."""
    make = report_named("html")
    return None if make is None else make(value)
