# SPDX-License-Identifier: Apache-2.0
"""Compilation ahead of time, stage by stage."""

from olympus_xla.stages import Compiled, Lowered, Traced

__all__ = ["Compiled", "Lowered", "Traced"]
