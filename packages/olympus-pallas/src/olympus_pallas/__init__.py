# SPDX-License-Identifier: Apache-2.0
"""A language of kernels: functions of references that many programs run on blocks of arrays."""

from __future__ import annotations

import olympus_numpy as _operators  # noqa: F401 - values in kernels have its operators
from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.references.indexing import Slice as Slice
from olympus_ir.references.indexing import ds as ds
from olympus_ir.references.indexing import dslice as dslice
from olympus_ir.references.states import run_state as run_state

from . import batching as batching
from . import call_lowering as call_lowering
from . import differentiation as differentiation
from . import discharging as discharging
from . import map_lowering as map_lowering
from . import transfer_printing as transfer_printing
from .__about__ import __version__ as __version__
from .block_specs import BlockDim as BlockDim
from .block_specs import Blocked as Blocked
from .block_specs import BlockSpec as BlockSpec
from .block_specs import BoundedSlice as BoundedSlice
from .block_specs import Buffered as Buffered
from .block_specs import Element as Element
from .block_specs import Indirect as Indirect
from .block_specs import RevisitMode as RevisitMode
from .block_specs import Squeezed as Squeezed
from .block_specs import no_block_spec as no_block_spec
from .block_specs import squeezed as squeezed
from .calls import CompilerParams as CompilerParams
from .calls import CostEstimate as CostEstimate
from .calls import pallas_call as pallas_call
from .calls import pallas_call_p as pallas_call_p
from .control import loop as loop
from .control import when as when
from .core_mapping import core_map as core_map
from .core_mapping import kernel as kernel
from .cost_estimates import estimate_cost as estimate_cost
from .debugging import debug_check as debug_check
from .debugging import debug_print as debug_print
from .debugging import enable_debug_checks as enable_debug_checks
from .debugging import enable_poison_buffers as enable_poison_buffers
from .exporting import lower_as_mlir as lower_as_mlir
from .grids import GridSpec as GridSpec
from .hints import broadcast_to as broadcast_to
from .hints import delay as delay
from .hints import empty as empty
from .hints import empty_like as empty_like
from .hints import empty_ref_like as empty_ref_like
from .hints import multiple_of as multiple_of
from .hints import reciprocal as reciprocal
from .memory import MemoryRef as MemoryRef
from .memory import MemorySpace as MemorySpace
from .memory import semaphore as semaphore
from .programs import num_programs as num_programs
from .programs import program_id as program_id
from .scoped import get_global as get_global
from .scoped import run_scoped as run_scoped
from .scoped import with_scoped as with_scoped
from .selecting import select_ref as select_ref
from .sizes import align_to as align_to
from .sizes import cdiv as cdiv
from .sizes import next_power_of_2 as next_power_of_2
from .sizes import strides_from_shape as strides_from_shape
from .transfers import DeviceIdType as DeviceIdType
from .transfers import semaphore_read as semaphore_read
from .transfers import semaphore_signal as semaphore_signal
from .transfers import semaphore_wait as semaphore_wait

ANY = MemorySpace.ANY
HOST = MemorySpace.HOST

register_library_folder(__path__[0])
