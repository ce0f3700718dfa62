# SPDX-License-Identifier: Apache-2.0
"""Compilation ahead of time, stage by stage."""

from olympus_xla.calls.stages import ArgInfo, Compiled, CompilerOptions, Lowered, Traced, Wrapped

__all__ = ["ArgInfo", "Compiled", "CompilerOptions", "Lowered", "Traced", "Wrapped"]
