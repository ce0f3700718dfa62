# SPDX-License-Identifier: Apache-2.0
"""Reports that higher packages provide through the entry points ``olympus.reports``.

If olympus-insight is installed, notebooks show programs, shardings and executables, and errors come
with explanations. Reports are looked up when they are first needed.
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
    """Returns HTML that shows a value in notebooks; None if no installed package provides it."""
    make = report_named("html")
    return None if make is None else make(value)
