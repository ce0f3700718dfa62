# SPDX-License-Identifier: Apache-2.0
"""The loader of test cases, and marks of tests that must not run beside others."""

from __future__ import annotations

import contextlib
import importlib
import unittest
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["JaxTestLoader", "thread_unsafe_test", "thread_unsafe_test_class"]


def _base() -> Any:
    """Returns absl's class of loaders, or that of `unittest` without absl."""
    try:
        return importlib.import_module("absl.testing.absltest").TestLoader
    except ImportError:
        return unittest.TestLoader


_TestLoader: Any = _base()


class JaxTestLoader(_TestLoader):
    """Loader of test cases, which run one after the other."""


@contextlib.contextmanager
def thread_unsafe_test(condition: bool = True) -> Iterator[None]:
    """Marks a test, or a block of it, that must not run beside others."""
    del condition
    yield


def thread_unsafe_test_class(condition: bool = True) -> Callable[[type], type]:
    """Returns a decorator of test cases whose tests must not run beside others."""

    def mark(cls: type) -> type:
        if not issubclass(cls, unittest.TestCase):
            raise TypeError(f"thread_unsafe_test_class marks test cases, got {cls!r}")
        setattr(cls, "thread_hostile", condition)  # noqa: B010 - of no known type
        return cls

    return mark
