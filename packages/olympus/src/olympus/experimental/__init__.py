# SPDX-License-Identifier: Apache-2.0
"""Parts whose interfaces may still change."""

from olympus_ir.config import enable_x64
from olympus_ir.lax.callbacks import io_callback

from .. import _lazy

__all__ = ["enable_x64", "io_callback"]

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    {},
    (
        "array_serialization",
        "checkify",
        "compilation_cache",
        "hijax",
        "jet",
        "layout",
        "mesh_utils",
        "multihost_utils",
        "ode",
        "pallas",
        "random",
        "shard_map",
        "sparse",
        "topologies",
    ),
)
