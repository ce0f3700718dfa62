# SPDX-License-Identifier: Apache-2.0
"""Foreign functions: compiled code of other languages in OLYMPUS programs."""

from olympus_xla.foreign.ffi import (
    ffi_call,
    include_dir,
    pycapsule,
    register_ffi_target,
    register_ffi_target_as_batch_partitionable,
    register_ffi_type,
    register_ffi_type_id,
)

from . import _lazy

__all__ = [
    "build_ffi_lowering_function",  # noqa: F822
    "ffi_call",
    "ffi_lowering",  # noqa: F822
    "include_dir",
    "pycapsule",
    "register_ffi_target",
    "register_ffi_target_as_batch_partitionable",
    "register_ffi_type",
    "register_ffi_type_id",
]

__getattr__, __dir__ = _lazy.lazy_attributes(
    __name__,
    _lazy.names_from(
        "olympus_xla.compiling.lowering.adapters.ffi_rules",  # importing this module loads MLIR
        "build_ffi_lowering_function",
        "ffi_lowering",
    ),
)
