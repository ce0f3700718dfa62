# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of moving arrays between devices."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import bound, jet_rules, termwise

jet_rules.define(lax.device_put_p, bound(termwise, lax.device_put_p))
