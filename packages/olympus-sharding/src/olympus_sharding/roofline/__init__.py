# SPDX-License-Identifier: Apache-2.0
"""Roofline model: estimates of the operations and the memory traffic of a function.

The model is from Williams, Waterman, Patterson: Roofline: an insightful visual performance model
for multicore architectures. Communications of the ACM 52 (2009).
"""

from . import rules
from .estimates import roofline, roofline_and_grad
from .results import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
)

__all__ = [
    "RooflineResult",
    "RooflineRuleContext",
    "RooflineShape",
    "register_roofline",
    "register_standard_roofline",
    "roofline",
    "roofline_and_grad",
    "rules",
]
