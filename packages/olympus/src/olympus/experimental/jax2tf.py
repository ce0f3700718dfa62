# SPDX-License-Identifier: Apache-2.0
"""Converts functions for use in TensorFlow, and calls TensorFlow functions from OLYMPUS."""

from olympus_export import DisabledSafetyCheck
from olympus_export.jax2tf import (
    PolyShape,
    call_tf,
    convert,
    dtype_of_val,
    eval_polymorphic_shape,
    split_to_logical_devices,
)

from .._faces import present as _present

__all__ = [
    "DisabledSafetyCheck",
    "PolyShape",
    "call_tf",
    "convert",
    "dtype_of_val",
    "eval_polymorphic_shape",
    "split_to_logical_devices",
]

_present(__name__)
