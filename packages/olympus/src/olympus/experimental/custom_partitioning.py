# SPDX-License-Identifier: Apache-2.0
"""Functions with user-defined partitioning over devices."""

from olympus_xla.foreign.custom_partitioning import custom_partitioning, custom_partitioning_p
from olympus_xla.foreign.sharding_rules import (
    BATCHING,
    ArrayMapping,
    CompoundFactor,
    SdyShardingRule,
)

from .._faces import present as _present

__all__ = [
    "BATCHING",
    "ArrayMapping",
    "CompoundFactor",
    "SdyShardingRule",
    "custom_partitioning",
    "custom_partitioning_p",
]

_present(__name__)
