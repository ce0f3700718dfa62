# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_xla.foreign.custom_partitioning import custom_partitioning as custom_partitioning
from olympus_xla.foreign.custom_partitioning import custom_partitioning_p as custom_partitioning_p
from olympus_xla.foreign.sharding_rules import ArrayMapping as ArrayMapping
from olympus_xla.foreign.sharding_rules import CompoundFactor as CompoundFactor
from olympus_xla.foreign.sharding_rules import SdyShardingRule as SdyShardingRule
BATCHING: str
