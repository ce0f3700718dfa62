# SPDX-License-Identifier: Apache-2.0
"""Automatic vectorization of OLYMPUS programs: vmap and its rules."""

from __future__ import annotations

from olympus_ir.diagnostics.source_info import register_library_folder

from .__about__ import __version__
from .batched_programs import batch_olympuspr
from .custom_batching import custom_vmap, sequential_vmap
from .dimensions import BatchAxis
from .tables import batching_rules
from .vmap import vmap

__all__ = [
    "BatchAxis",
    "__version__",
    "batch_olympuspr",
    "batching_rules",
    "custom_vmap",
    "sequential_vmap",
    "vmap",
]

register_library_folder(__path__[0])
