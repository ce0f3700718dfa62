# SPDX-License-Identifier: Apache-2.0
"""Roofline model: estimates of the operations and the memory traffic of a function."""

from olympus_sharding.roofline import (
    RooflineResult,
    RooflineRuleContext,
    RooflineShape,
    register_roofline,
    register_standard_roofline,
    roofline,
    roofline_and_grad,
)

from .._faces import present as _present

__all__ = [
    "RooflineResult",
    "RooflineRuleContext",
    "RooflineShape",
    "register_roofline",
    "register_standard_roofline",
    "roofline",
    "roofline_and_grad",
]

_present(__name__)
