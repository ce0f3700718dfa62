# SPDX-License-Identifier: Apache-2.0
"""XLA's compiler: passes of its own for a process."""

from olympus_xla.compiling.compiler_passes import (
    PipelineStage,
    clear_hlo_module_transformation,
    register_hlo_module_transformation,
)

__all__ = [
    "PipelineStage",
    "clear_hlo_module_transformation",
    "register_hlo_module_transformation",
]
