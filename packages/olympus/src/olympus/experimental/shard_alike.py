# SPDX-License-Identifier: Apache-2.0
"""Values that are divided over devices in the same way."""

from olympus_ir.lax.annotating import shard_alike

__all__ = ["shard_alike"]
