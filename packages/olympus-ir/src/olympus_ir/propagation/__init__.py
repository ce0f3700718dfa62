# SPDX-License-Identifier: Apache-2.0
"""Propagation: from the layouts of operands over explicit mesh axes to those of results.

Loaded when an operand with a layout is met first. Rule files have the names of the families; a
primitive of a higher package brings its rule along.
"""

from __future__ import annotations

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
from .inference import infer_with_layouts
from .tables import Propagation, of_program, propagation_rules

__all__ = ["Propagation", "infer_with_layouts", "of_program", "propagation_rules"]
