# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.compiling.compiler_passes import PipelineStage as PipelineStage
from olympus_xla.compiling.compiler_passes import clear_hlo_module_transformation as clear_hlo_module_transformation
from olympus_xla.compiling.compiler_passes import register_hlo_module_transformation as register_hlo_module_transformation
