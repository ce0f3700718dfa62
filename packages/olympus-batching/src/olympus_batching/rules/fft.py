# SPDX-License-Identifier: Apache-2.0
"""Batching of Fourier transforms, which work on the last dimensions."""

from __future__ import annotations

from typing import Any

from olympus_ir import lax

from ..tables import batching_rules, check_examples, to_front


@batching_rules.define(lax.fft_p)
def _fft(axis_size: int, args: Any, batch_dims: Any, **params: Any) -> Any:
    # Without this check, examples of too few dimensions would be transformed together.
    check_examples(lax.fft_p, args, batch_dims, params)
    return lax.fft_p.bind(to_front(args[0], batch_dims[0]), **params), 0
