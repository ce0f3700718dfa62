# SPDX-License-Identifier: Apache-2.0
"""Foreign functions, under the name that they had before `olympus.ffi`."""

from .. import _lazy
from ..ffi import (
    ffi_call,
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type_id,
)

__all__ = [
    "ffi_call",
    "ffi_lowering",  # noqa: F822
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type_id",
]

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    _lazy.names_from("olympus_xla.compiling.lowering.adapters.ffi_rules", "ffi_lowering"),
)
