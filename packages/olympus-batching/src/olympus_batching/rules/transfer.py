# SPDX-License-Identifier: Apache-2.0
"""Batching of transfers: all examples move together."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..tables import batching_rules


@batching_rules.define(lax.device_put_p)
def _device_put(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    return lax.device_put_p.bind(*args, **params), list(batch_dims)
