# SPDX-License-Identifier: Apache-2.0
"""Compiles and executes OLYMPUS programs with XLA on CPU, GPU and TPU."""

from __future__ import annotations

from olympus_ir.diagnostics.source_info import register_library_folder

# Importing this module installs the evaluator in olympus-ir.
from . import evaluator
from .__about__ import __version__
from .arrays import hlo_shardings
from .arrays.array import Array
from .arrays.assembly import (
    make_array_from_callback,
    make_array_from_process_local_data,
    make_array_from_single_device_arrays,
)
from .arrays.dlpack import from_dlpack
from .arrays.shards import Shard
from .arrays.transfer import block_until_ready, copy_to_host_async, device_get, device_put
from .calls.jit import clear_caches
from .calls.jit import jit as jit
from .platforms import plugins, travelling_devices
from .platforms.backends import (
    clear_backends,
    default_backend,
    device_count,
    devices,
    host_count,
    host_id,
    host_ids,
    live_arrays,
    local_device_count,
    local_devices,
    process_count,
    process_index,
    process_indices,
)

__all__ = [
    "Array",
    "Shard",
    "__version__",
    "block_until_ready",
    "clear_backends",
    "clear_caches",
    "copy_to_host_async",
    "default_backend",
    "device_count",
    "device_get",
    "device_put",
    "devices",
    "evaluator",
    "from_dlpack",
    "hlo_shardings",
    "host_count",
    "host_id",
    "host_ids",
    "live_arrays",
    "local_device_count",
    "local_devices",
    "make_array_from_callback",
    "make_array_from_process_local_data",
    "make_array_from_single_device_arrays",
    "plugins",
    "process_count",
    "process_index",
    "process_indices",
    "travelling_devices",
]

register_library_folder(__path__[0])
