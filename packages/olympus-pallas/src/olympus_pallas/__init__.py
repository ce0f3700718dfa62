# SPDX-License-Identifier: Apache-2.0
"""The Pallas language, in which each program of a grid runs a kernel: a function of references."""

from __future__ import annotations

import olympus_numpy as _operators  # noqa: F401 - values in kernels have its operators
from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.references.indexing import Slice as Slice
from olympus_ir.references.indexing import ds as ds
from olympus_ir.references.indexing import dslice as dslice
from olympus_ir.references.states import run_state as run_state

from . import lowerings as lowerings
from .__about__ import __version__ as __version__
from .calls import batching as batching
from .calls import differentiation as differentiation
from .calls.cost_estimates import estimate_cost as estimate_cost
from .calls.exporting import lower_as_mlir as lower_as_mlir
from .calls.pallas_call import CompilerParams as CompilerParams
from .calls.pallas_call import CostEstimate as CostEstimate
from .calls.pallas_call import pallas_call as pallas_call
from .calls.pallas_call import pallas_call_p as pallas_call_p
from .core_maps.kernels import core_map as core_map
from .core_maps.kernels import kernel as kernel
from .grids.block_dims import BlockDim as BlockDim
from .grids.block_dims import Blocked as Blocked
from .grids.block_dims import BoundedSlice as BoundedSlice
from .grids.block_dims import Buffered as Buffered
from .grids.block_dims import Element as Element
from .grids.block_dims import Indirect as Indirect
from .grids.block_dims import RevisitMode as RevisitMode
from .grids.block_dims import Squeezed as Squeezed
from .grids.block_dims import squeezed as squeezed
from .grids.block_specs import BlockSpec as BlockSpec
from .grids.block_specs import no_block_spec as no_block_spec
from .grids.dynamic_shapes import pallas_export_experimental as pallas_export_experimental
from .grids.grid_specs import GridSpec as GridSpec
from .grids.program_ids import num_programs as num_programs
from .grids.program_ids import program_id as program_id
from .grids.sizes import align_to as align_to
from .grids.sizes import cdiv as cdiv
from .grids.sizes import next_power_of_2 as next_power_of_2
from .grids.sizes import strides_from_shape as strides_from_shape
from .memory import discharging as discharging
from .memory.selection import select_ref as select_ref
from .memory.spaces import MemoryRef as MemoryRef
from .memory.spaces import MemorySpace as MemorySpace
from .memory.spaces import semaphore as semaphore
from .operations import transfer_printing as transfer_printing
from .operations.control import loop as loop
from .operations.control import when as when
from .operations.debugging import debug_check as debug_check
from .operations.debugging import debug_print as debug_print
from .operations.debugging import enable_debug_checks as enable_debug_checks
from .operations.debugging import enable_poison_buffers as enable_poison_buffers
from .operations.hints import broadcast_to as broadcast_to
from .operations.hints import delay as delay
from .operations.hints import empty as empty
from .operations.hints import empty_like as empty_like
from .operations.hints import empty_ref_like as empty_ref_like
from .operations.hints import multiple_of as multiple_of
from .operations.hints import reciprocal as reciprocal
from .operations.scoped import get_global as get_global
from .operations.scoped import run_scoped as run_scoped
from .operations.scoped import with_scoped as with_scoped
from .operations.transfers import DeviceIdType as DeviceIdType
from .operations.transfers import semaphore_read as semaphore_read
from .operations.transfers import semaphore_signal as semaphore_signal
from .operations.transfers import semaphore_wait as semaphore_wait

ANY = MemorySpace.ANY
HOST = MemorySpace.HOST

register_library_folder(__path__[0])
