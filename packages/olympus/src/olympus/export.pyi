# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_export import DisabledSafetyCheck as DisabledSafetyCheck
from olympus_export import Exported as Exported
from olympus_export import Frozen as Frozen
from olympus_export import SymbolicScope as SymbolicScope
from olympus_export.frozen.freezing import freeze as freeze
from olympus_export.frozen.frozen import load_frozen as load_frozen
from olympus_export.functions.exporting import default_export_platform as default_export_platform
from olympus_export.functions.exporting import export as export
from olympus_export.functions.reading import deserialize as deserialize
from olympus_export.trees import register_namedtuple_serialization as register_namedtuple_serialization
from olympus_export.trees import register_pytree_node_serialization as register_pytree_node_serialization
from olympus_ir.symbolic.expressions import is_symbolic_dim as is_symbolic_dim
from olympus_ir.symbolic.specifications import symbolic_args_specs as symbolic_args_specs
from olympus_ir.symbolic.specifications import symbolic_shape as symbolic_shape
maximum_supported_calling_convention_version: int
minimum_supported_calling_convention_version: int
