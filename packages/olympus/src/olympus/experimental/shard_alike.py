# SPDX-License-Identifier: Apache-2.0
"""`shard_alike`: constrains two values to have the same sharding."""

from olympus_ir.lax.annotations.functions import shard_alike

from .._faces import present as _present

__all__ = ["shard_alike"]

_present(__name__)
