# SPDX-License-Identifier: Apache-2.0
"""Parts whose interfaces may still change."""

from olympus_ir.lax.callbacks import io_callback
from olympus_ir.settings.config import enable_x64

from .. import _lazy

__all__ = ["enable_x64", "io_callback"]

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    _lazy.names_from(
        "olympus_ir.adapters.paired_dtypes", "EArray", "cur_qdd", "primal_tangent_dtype"
    ),
    (
        "array_serialization",
        "buffer_callback",
        "checkify",
        "colocated_python",
        "compilation_cache",
        "compute_on",
        "control_deps",
        "custom_partitioning",
        "fused",
        "hijax",
        "jax2tf",
        "jet",
        "layout",
        "mesh_utils",
        "multihost_utils",
        "ode",
        "pallas",
        "pjit",
        "profiler",
        "random",
        "rnn",
        "roofline",
        "scheduling_groups",
        "serialize_executable",
        "shard_alike",
        "shard_map",
        "source_mapper",
        "sparse",
        "topologies",
        "transfer",
        "xla_metadata",
    ),
)
