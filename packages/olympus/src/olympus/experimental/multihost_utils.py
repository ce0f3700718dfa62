# SPDX-License-Identifier: Apache-2.0
"""Communication between the processes of a program."""

from olympus_xla.processes.mesh_arrays import (
    global_array_to_host_local_array,
    global_array_to_host_local_array_impl,
    global_array_to_host_local_array_p,
    gtl_abstract_eval,
    host_local_array_to_global_array,
    host_local_array_to_global_array_impl,
    host_local_array_to_global_array_p,
    ltg_abstract_eval,
    ltg_batcher,
)
from olympus_xla.processes.multihost import (
    ProcessFailureError,
    assert_equal,
    broadcast_one_to_all,
    live_devices,
    process_allgather,
    reached_preemption_sync_point,
    sync_global_devices,
)

from .._faces import present as _present

__all__ = [
    "ProcessFailureError",
    "assert_equal",
    "broadcast_one_to_all",
    "global_array_to_host_local_array",
    "global_array_to_host_local_array_impl",
    "global_array_to_host_local_array_p",
    "gtl_abstract_eval",
    "host_local_array_to_global_array",
    "host_local_array_to_global_array_impl",
    "host_local_array_to_global_array_p",
    "live_devices",
    "ltg_abstract_eval",
    "ltg_batcher",
    "process_allgather",
    "reached_preemption_sync_point",
    "sync_global_devices",
]

_present(__name__)
