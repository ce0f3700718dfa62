# SPDX-License-Identifier: Apache-2.0
"""What writes and reads single arrays."""

from olympus_xla.array_serialization.specs import (
    get_tensorstore_spec,
    is_remote_storage,
    merge_nested_ts_specs,
    verify_tensorstore_spec,
)
from olympus_xla.array_serialization.stores import (
    TS_CONTEXT,
    async_deserialize,
    async_serialize,
    combine_kvstores,
    run_deserialization,
    run_serialization,
)

__all__ = [
    "TS_CONTEXT",
    "async_deserialize",
    "async_serialize",
    "combine_kvstores",
    "get_tensorstore_spec",
    "is_remote_storage",
    "merge_nested_ts_specs",
    "run_deserialization",
    "run_serialization",
    "verify_tensorstore_spec",
]
