# SPDX-License-Identifier: Apache-2.0
"""Ahead-of-time compilation in stages."""

from olympus_xla.calls.stages import ArgInfo, Compiled, CompilerOptions, Lowered, Traced, Wrapped

from ._faces import present as _present

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]

_present(__name__)
