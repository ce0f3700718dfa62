# SPDX-License-Identifier: Apache-2.0
"""Padding rules of Fourier transforms, whose transformed axes must not be symbolic."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ... import lax
from ...symbolic.expressions import SymbolicDim
from ..evaluation import Site, padding_rules, refused


@padding_rules.define(lax.fft_p)
def _fft(site: Site, operand: Any, *, fft_lengths: Sequence[Any], **params: Any) -> Any:
    count = len(fft_lengths)
    sizes = (*fft_lengths, *site.operands[0].shape[site.operands[0].ndim - count :])
    if any(isinstance(size, SymbolicDim) for size in sizes):
        raise refused(site, lax.fft_p, "every frequency depends on the length")
    return lax.fft_p.bind(operand, fft_lengths=fft_lengths, **params)
