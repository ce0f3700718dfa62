# SPDX-License-Identifier: Apache-2.0
"""Exemption from reference rules for `ragged_all_to_all`, which is never evaluated.

The module `collectives` explains why.
"""

from __future__ import annotations

from ..lax.ragged_exchange import ragged_all_to_all_p
from .tables import reference_rules

reference_rules.exempt(
    ragged_all_to_all_p,
    reason="no named axis reaches the evaluator, because vmap rewrites the collective",
)
