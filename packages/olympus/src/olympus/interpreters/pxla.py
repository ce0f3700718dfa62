# SPDX-License-Identifier: Apache-2.0
"""Compilation of programs for several devices."""

from __future__ import annotations

from olympus_xla.compiling.compile_options import create_compile_options as create_compile_options

from .. import _lazy
from . import _thread_resources

__all__ = ["create_compile_options"]

__getattr__, __dir__ = _lazy.lazy_attributes(__name__, {}, fallback=_thread_resources.deprecated)
