# SPDX-License-Identifier: Apache-2.0
"""The derivative rules of the instruction set, one file a family."""

from . import (
    callbacks,
    calls,
    collectives,
    contractions,
    control_flow,
    convolution,
    elementwise,
    indexing,
    linear_solves,
    reductions,
    shaping,
    sorting,
    special,
    tokens,
    transfer,
)

__all__ = [
    "callbacks",
    "calls",
    "collectives",
    "contractions",
    "control_flow",
    "convolution",
    "elementwise",
    "indexing",
    "linear_solves",
    "reductions",
    "shaping",
    "sorting",
    "special",
    "tokens",
    "transfer",
]
