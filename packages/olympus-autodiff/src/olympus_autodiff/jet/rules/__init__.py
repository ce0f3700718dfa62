# SPDX-License-Identifier: Apache-2.0
"""The Taylor rules of the instruction set, one file a family.

Primitives that have none here are pushed along a curve by their jvp rule.
"""

from . import calls, contractions, control_flow, elementwise, linalg, reductions, structure

__all__ = [
    "calls",
    "contractions",
    "control_flow",
    "elementwise",
    "linalg",
    "reductions",
    "structure",
]
