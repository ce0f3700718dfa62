# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from typing import Any
GSPMDSharding: Any
HloSharding: Any
OpSharding: Any
get_hlo_sharding_from_serialized_proto: Any
get_op_sharding_from_serialized_proto: Any
get_serialized_proto_from_hlo_sharding: Any
