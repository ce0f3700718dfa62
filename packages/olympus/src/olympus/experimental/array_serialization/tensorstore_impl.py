# SPDX-License-Identifier: Apache-2.0
"""Writing and reading of single arrays."""

from typing import Any

from olympus_export.array_serialization.specs import (
    get_tensorstore_spec,
    is_remote_storage,
    merge_nested_ts_specs,
    verify_tensorstore_spec,
)
from olympus_export.array_serialization.stores import (
    async_deserialize,
    async_serialize,
    combine_kvstores,
    run_deserialization,
    run_serialization,
    shared_context,
)

from ..._faces import present as _present

__all__ = [
    "TS_CONTEXT",  # noqa: F822 - looked up below
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


def __getattr__(name: str) -> Any:
    # The context is made on first use, because tensorstore may not be installed.
    if name == "TS_CONTEXT":
        return shared_context()
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


_present(__name__)
