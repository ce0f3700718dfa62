# SPDX-License-Identifier: Apache-2.0
"""Lowers operations of kernels that only change the shape of an array."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from olympus_ir import lax

from .building import KernelBuilder
from .tables import define_for_both


@define_for_both(lax.reshape_p)
def _reshape(builder: KernelBuilder, x: Any, *, new_sizes: Sequence[int], **params: Any) -> Any:
    return builder.reshape(x, new_sizes)


@define_for_both(lax.squeeze_p)
def _squeeze(builder: KernelBuilder, x: Any, **params: Any) -> Any:
    return builder.reshape(x, builder.aval_out.shape)
