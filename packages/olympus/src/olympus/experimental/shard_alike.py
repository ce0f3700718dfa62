# SPDX-License-Identifier: Apache-2.0
"""`shard_alike`: gives two values the same sharding."""

from olympus_ir.lax.annotating import shard_alike

__all__ = ["shard_alike"]
