# SPDX-License-Identifier: Apache-2.0
"""Exemption from propagation for `ragged_all_to_all`, which works on whole shards."""

from __future__ import annotations

from ..lax.ragged_exchange import ragged_all_to_all_p
from ..programs.propagation import propagation_rules

propagation_rules.exempt(
    ragged_all_to_all_p,
    reason="it exchanges slices of whole shards between devices, over manual axes only",
)
