# SPDX-License-Identifier: Apache-2.0
"""Layouts of arrays in registers and in tensor memory."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

__all__ = ["Layout", "ParameterizedLayout", "TMEMLayout"]


@dataclasses.dataclass(frozen=True)
class ParameterizedLayout:
    """A layout with parameters.

    Args:
      layout_cls: the kind of layout.
      args: the positional parameters.
      kwargs: the keyword parameters.
    """

    layout_cls: Any
    args: tuple[Any, ...]
    kwargs: tuple[tuple[str, Any], ...] = ()


class Layout(enum.Enum):
    """Layouts of arrays in registers; a call of a member sets its parameters.

    On simulated threads an array is never split among threads, so its layout has no effect.

    Example:
      >>> Layout.WG_STRIDED((64,), 2).args
      ((64,), 2)
    """

    WGMMA = 1
    WGMMA_8BIT = 2
    WGMMA_UPCAST_2X = 3
    WGMMA_UPCAST_4X = 4
    WGMMA_TRANSPOSED = 5
    WG_SPLAT = 6
    WG_STRIDED = 7
    TILED = 8
    TCGEN05 = 9
    TCGEN05_TRANSPOSED = 10
    TCGEN05_M64_COLLECTIVE = 11
    TCGEN05_TMEM_NATIVE = 12
    TCGEN05_M64_COLLECTIVE_NATIVE = 13
    SMEM_GMEM_COPY = 14
    TMA_INDICES = 15
    TMA_INDICES_4 = 16

    def __str__(self) -> str:
        return f"Layout.{self.name}"

    def __call__(self, *args: Any, **kwargs: Any) -> ParameterizedLayout:
        return ParameterizedLayout(self, args, tuple(kwargs.items()))


class TMEMLayout(enum.Enum):
    """Layouts of arrays in tensor memory; a call of a member sets its parameters."""

    SCALES_LAYOUT = 1
    SPARSE_METADATA_LAYOUT = 2
    M64_COLLECTIVE_LAYOUT = 3
    SCALES_M64_COLLECTIVE_LAYOUT = 4

    def __call__(self, *args: Any, **kwargs: Any) -> ParameterizedLayout:
        return ParameterizedLayout(self, args, tuple(kwargs.items()))
