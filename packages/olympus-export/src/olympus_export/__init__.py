# SPDX-License-Identifier: Apache-2.0
"""Export of functions and arrays: StableHLO, executables, TensorFlow programs, checkpoints.

`functions` exports functions as StableHLO and reads them back, `frozen` stores such a program with
its weights, `executables` stores compiled functions, `ir_files` writes programs for other systems,
`jax2tf` converts from and to TensorFlow, and `array_serialization` stores arrays. `trees` and
`optional_libraries` serve all of these.
"""

from __future__ import annotations

from olympus_ir.diagnostics.source_info import register_library_folder
from olympus_ir.symbolic import (
    SymbolicScope,
    is_symbolic_dim,
    symbolic_args_specs,
    symbolic_shape,
)

from .__about__ import __version__
from .frozen.freezing import freeze
from .frozen.frozen import Frozen, load_frozen
from .functions import lowering as _lowering  # noqa: F401 - defines a rule of olympus-xla's table
from .functions.exported import Exported
from .functions.exporting import (
    default_export_platform,
    export,
    maximum_supported_calling_convention_version,
    minimum_supported_calling_convention_version,
)
from .functions.reading import deserialize
from .functions.safety_checks import DisabledSafetyCheck
from .trees import register_namedtuple_serialization, register_pytree_node_serialization

__all__ = [
    "DisabledSafetyCheck",
    "Exported",
    "Frozen",
    "SymbolicScope",
    "__version__",
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

register_library_folder(__path__[0])
