# SPDX-License-Identifier: Apache-2.0
"""All rules of the instruction set, and the inference that uses them."""

from __future__ import annotations

from ..programs.layout_inference import infer_with_layouts
from . import (  # noqa: F401 - they fill the table
    calls,
    collectives,
    contractions,
    elementwise,
    indexing,
    linalg,
    reductions,
    shaping,
    windows,
)

__all__ = ["infer_with_layouts"]
