# SPDX-License-Identifier: Apache-2.0
"""Copies of modules that XLA can compile while other threads build programs.

XLA works on a module in the module's MLIR context, which is not thread-safe. The process builds all
programs in one context, whose caches make lowering fast. If there are several threads, XLA
therefore gets a copy of the module in another context. Programs can then compile in parallel, and
no lock is held during a compilation.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import progress
from . import mlir

# Contexts that no compilation is using. `append` and `pop` of a list are atomic.
_idle_contexts: list[Any] = []
_compiler_calls_python = False


def expect_calls_from_compiler() -> None:
    """Records that XLA's own threads will call Python functions that lower programs."""
    global _compiler_calls_python
    _compiler_calls_python = True


@contextmanager
def isolated(module: Any) -> Iterator[Any]:
    """Context manager that yields a module for XLA that no other thread uses.

    Args:
      module: a module in the process's context, or bytecode, which XLA reads in its own context.

    Yields:
      The module itself if the process has one thread, otherwise a copy in another context.
    """
    others = threading.active_count() - 1 - progress.watching_threads()
    alone = not others and not _compiler_calls_python
    if alone or isinstance(module, bytes):
        yield module
        return
    code = mlir.bytecode(module)
    try:
        context = _idle_contexts.pop()
    except IndexError:
        context = mlir.OlympusIrContext()
    try:
        yield mlir.ir.Module.parse(code, context=context)
    except Exception:
        _idle_contexts.append(context)
        raise
    # Not reached after Ctrl-C: the compilation continues in the context, which is then dropped.
    _idle_contexts.append(context)
