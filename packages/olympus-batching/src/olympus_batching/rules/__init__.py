# SPDX-License-Identifier: Apache-2.0
"""The batching rules, one module a family of primitives. Importing them fills the tables."""

from . import (
    callbacks,
    calls,
    collectives,
    contractions,
    control_flow,
    convolution,
    elementwise,
    indexing,
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
    "reductions",
    "shaping",
    "sorting",
    "special",
    "tokens",
    "transfer",
]
