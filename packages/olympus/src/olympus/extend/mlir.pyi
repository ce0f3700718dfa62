# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.compiling.lowering.adapters.library_operations import lower_with_sharding_in_types as lower_with_sharding_in_types
from typing import Any
deserialize_portable_artifact: Any
hlo_to_stablehlo: Any
refine_polymorphic_shapes: Any
serialize_portable_artifact: Any
