# SPDX-License-Identifier: Apache-2.0
"""Modules that XLA can compile while other threads build programs.

XLA works on a module in the module's MLIR context, and a context is not safe for several threads.
The process builds all its programs in one context, whose caches make lowering quick. So XLA gets a
copy in a context that no other thread uses, unless there is no other thread. Programs then compile
side by side, and no lock is held meanwhile.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import progress
from . import mlir

# Contexts that no compilation uses at present. `append` and `pop` of a list are atomic.
_idle_contexts: list[Any] = []
_compiler_calls_python = False


def expect_calls_from_compiler() -> None:
    """States that XLA will call Python functions, which lower programs, from its own threads."""
    global _compiler_calls_python
    _compiler_calls_python = True


@contextmanager
def isolated(module: Any) -> Iterator[Any]:
    """Context manager: a module for XLA that no other thread works on.

    Args:
      module: a module of the process's context, or bytecode, which XLA reads in its own context.

    Yields:
      The module itself in a process of one thread, otherwise a copy in another context.
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
    # After Ctrl-C, the compilation goes on in the context, which is dropped.
    _idle_contexts.append(context)
