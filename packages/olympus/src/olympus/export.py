# SPDX-License-Identifier: Apache-2.0
"""Export of functions as StableHLO, to be called in another process or by another runtime."""

import olympus_random as _random  # noqa: F401 - exported functions may have typed keys
from olympus_export import (
    DisabledSafetyCheck,
    Exported,
    Frozen,
    SymbolicScope,
    default_export_platform,
    deserialize,
    export,
    freeze,
    is_symbolic_dim,
    load_frozen,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
    register_namedtuple_serialization,
    register_pytree_node_serialization,
    symbolic_args_specs,
    symbolic_shape,
)

from ._faces import present as _present

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "Frozen",
    "SymbolicScope",
    "default_export_platform",
    "deserialize",
    "export",
    "freeze",
    "is_symbolic_dim",
    "load_frozen",
    "maximum_supported_calling_convention_version",
    "minimum_supported_calling_convention_version",
    "register_namedtuple_serialization",
    "register_pytree_node_serialization",
    "symbolic_args_specs",
    "symbolic_shape",
]

_present(__name__)
