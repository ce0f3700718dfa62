# SPDX-License-Identifier: Apache-2.0
"""Contexts that record, refuse or ignore warnings."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["ignore_warning", "raise_on_warnings", "record_warnings"]


@contextmanager
def raise_on_warnings() -> Iterator[None]:
    """Raises warnings as errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


@contextmanager
def record_warnings() -> Iterator[list[warnings.WarningMessage]]:
    """Yields the list of warnings, to which each warning is added."""
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        yield recorded


@contextmanager
def ignore_warning(
    *, message: str | None = None, category: type[Warning] = Warning
) -> Iterator[None]:
    """Ignores warnings of a category.

    Args:
      message: a pattern with which the ignored warnings begin; by default any.
      category: the category.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message=message or "", category=category)
        yield
