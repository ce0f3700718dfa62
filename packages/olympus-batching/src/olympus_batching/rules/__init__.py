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
    fft,
    indexing,
    linalg,
    random_bits,
    reductions,
    shaping,
    sorting,
    special,
    tokens,
    transfer,
    windows,
)

__all__ = [
    "callbacks",
    "calls",
    "collectives",
    "contractions",
    "control_flow",
    "convolution",
    "elementwise",
    "fft",
    "indexing",
    "linalg",
    "random_bits",
    "reductions",
    "shaping",
    "sorting",
    "special",
    "tokens",
    "transfer",
    "windows",
]
