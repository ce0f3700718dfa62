# SPDX-License-Identifier: Apache-2.0
"""StableHLO modules: their portable form, their shapes, and the shardings of their values."""

from __future__ import annotations

from typing import Any

from olympus_xla._jaxlib import stablehlo_functions as _functions
from olympus_xla.compiling.lowering.adapters.library_operations import (
    lower_with_sharding_in_types as lower_with_sharding_in_types,
)

from .._faces import present as _present

__all__ = [
    "deserialize_portable_artifact",
    "hlo_to_stablehlo",
    "lower_with_sharding_in_types",
    "refine_polymorphic_shapes",
    "serialize_portable_artifact",
]

deserialize_portable_artifact: Any = _functions.deserialize_portable_artifact
hlo_to_stablehlo: Any = _functions.hlo_to_stablehlo
refine_polymorphic_shapes: Any = _functions.refine_polymorphic_shapes
serialize_portable_artifact: Any = _functions.serialize_portable_artifact

_present(__name__)
