# SPDX-License-Identifier: Apache-2.0
"""Annotations: results have the types of operands, or of programs' results."""

from __future__ import annotations

from .. import lax  # noqa: F401 - declares the primitives
from ..primitives import primitives
from .tables import of_program, propagation_rules

for _primitive in primitives():
    if _primitive.family == "annotations":
        propagation_rules.define(_primitive, of_program)
