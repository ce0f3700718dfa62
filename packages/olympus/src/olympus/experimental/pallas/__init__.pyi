# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from . import fuser as fuser
from . import mosaic_gpu as mosaic_gpu
from . import tpu as tpu
from . import tpu_sc as tpu_sc
from . import triton as triton
from olympus_ir.references.indexing import Slice as Slice
from olympus_ir.references.indexing import dslice as _dslice
from olympus_ir.references.indexing import dslice as dslice
from olympus_ir.references.states import run_state as run_state
from olympus_pallas.calls.cost_estimates import estimate_cost as estimate_cost
from olympus_pallas.calls.exporting import lower_as_mlir as lower_as_mlir
from olympus_pallas.calls.pallas_call import CompilerParams as CompilerParams
from olympus_pallas.calls.pallas_call import CostEstimate as CostEstimate
from olympus_pallas.calls.pallas_call import pallas_call as pallas_call
from olympus_pallas.calls.pallas_call import pallas_call_p as pallas_call_p
from olympus_pallas.core_maps.kernels import core_map as core_map
from olympus_pallas.core_maps.kernels import kernel as kernel
from olympus_pallas.grids.block_dims import BlockDim as BlockDim
from olympus_pallas.grids.block_dims import Blocked as Blocked
from olympus_pallas.grids.block_dims import BoundedSlice as BoundedSlice
from olympus_pallas.grids.block_dims import Buffered as Buffered
from olympus_pallas.grids.block_dims import Element as Element
from olympus_pallas.grids.block_dims import Indirect as Indirect
from olympus_pallas.grids.block_dims import RevisitMode as RevisitMode
from olympus_pallas.grids.block_dims import Squeezed as Squeezed
from olympus_pallas.grids.block_dims import squeezed as squeezed
from olympus_pallas.grids.block_specs import BlockSpec as BlockSpec
from olympus_pallas.grids.block_specs import no_block_spec as no_block_spec
from olympus_pallas.grids.dynamic_shapes import pallas_export_experimental as pallas_export_experimental
from olympus_pallas.grids.grid_specs import GridSpec as GridSpec
from olympus_pallas.grids.program_ids import num_programs as num_programs
from olympus_pallas.grids.program_ids import program_id as program_id
from olympus_pallas.grids.sizes import align_to as align_to
from olympus_pallas.grids.sizes import cdiv as cdiv
from olympus_pallas.grids.sizes import next_power_of_2 as next_power_of_2
from olympus_pallas.grids.sizes import strides_from_shape as strides_from_shape
from olympus_pallas.memory.selection import select_ref as select_ref
from olympus_pallas.memory.spaces import MemoryRef as MemoryRef
from olympus_pallas.memory.spaces import MemorySpace as MemorySpace
from olympus_pallas.operations.control import loop as loop
from olympus_pallas.operations.control import when as when
from olympus_pallas.operations.debugging import debug_check as debug_check
from olympus_pallas.operations.debugging import debug_print as debug_print
from olympus_pallas.operations.debugging import enable_debug_checks as enable_debug_checks
from olympus_pallas.operations.debugging import enable_poison_buffers as enable_poison_buffers
from olympus_pallas.operations.hints import broadcast_to as broadcast_to
from olympus_pallas.operations.hints import delay as delay
from olympus_pallas.operations.hints import empty as empty
from olympus_pallas.operations.hints import empty_like as empty_like
from olympus_pallas.operations.hints import empty_ref_like as empty_ref_like
from olympus_pallas.operations.hints import multiple_of as multiple_of
from olympus_pallas.operations.hints import reciprocal as reciprocal
from olympus_pallas.operations.scoped import get_global as get_global
from olympus_pallas.operations.scoped import run_scoped as run_scoped
from olympus_pallas.operations.scoped import with_scoped as with_scoped
from olympus_pallas.operations.transfers import DeviceIdType as DeviceIdType
from olympus_pallas.operations.transfers import semaphore_read as semaphore_read
from olympus_pallas.operations.transfers import semaphore_signal as semaphore_signal
from olympus_pallas.operations.transfers import semaphore_wait as semaphore_wait
from typing import Any
ANY: Any
HOST: Any
ds = _dslice
semaphore: Any
