# SPDX-License-Identifier: Apache-2.0
"""Custom passes of XLA's compiler in this process."""

from olympus_xla.compiling.compiler_passes import (
    PipelineStage,
    clear_hlo_module_transformation,
    register_hlo_module_transformation,
)

from .._faces import present as _present

__all__ = [
    "PipelineStage",
    "clear_hlo_module_transformation",
    "register_hlo_module_transformation",
]

_present(__name__)
