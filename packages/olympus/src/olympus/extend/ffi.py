# SPDX-License-Identifier: Apache-2.0
"""Foreign functions, under the name that they had before `olympus.ffi`."""

from ..ffi import (
    ffi_call,
    ffi_lowering,
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type_id,
)

__all__ = [
    "ffi_call",
    "ffi_lowering",
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type_id",
]
