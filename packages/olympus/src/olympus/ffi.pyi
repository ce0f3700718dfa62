# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.compiling.lowering.adapters.ffi_rules import build_ffi_lowering_function as build_ffi_lowering_function
from olympus_xla.compiling.lowering.adapters.ffi_rules import ffi_lowering as ffi_lowering
from olympus_xla.foreign.ffi import ffi_call as ffi_call
from olympus_xla.foreign.ffi import include_dir as include_dir
from olympus_xla.foreign.ffi import pycapsule as pycapsule
from olympus_xla.foreign.ffi import register_ffi_target as register_ffi_target
from olympus_xla.foreign.ffi import register_ffi_target_as_batch_partitionable as register_ffi_target_as_batch_partitionable
from olympus_xla.foreign.ffi import register_ffi_type as register_ffi_type
from olympus_xla.foreign.ffi import register_ffi_type_id as register_ffi_type_id
