# SPDX-License-Identifier: Apache-2.0
"""Taylor rule of the exchange of ragged slices."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import bound, jet_rules, termwise

jet_rules.define(lax.ragged_all_to_all_p, bound(termwise, lax.ragged_all_to_all_p))
