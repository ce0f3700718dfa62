# SPDX-License-Identifier: Apache-2.0
"""Propagation rule of Fourier transforms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .. import lax
from ..programs.layout_inference import unreduced_as_operands
from ..programs.propagation import Entries, Propagation, propagation_rules
from ..types.layouts import entries_of


def _fft(operands: Sequence[Any], results: Sequence[Any], **params: Any) -> Entries:
    return entries_of(operands[0])


propagation_rules.define(
    lax.fft_p, Propagation(_fft, unreduced=unreduced_as_operands, reduced=True)
)
