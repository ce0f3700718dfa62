# SPDX-License-Identifier: Apache-2.0
"""Propagation rules of transfers."""

from __future__ import annotations

from .. import lax
from ..programs.propagation import declared_types, propagation_rules

# The destination determines the sharding of the result.
propagation_rules.define(lax.device_put_p, declared_types)
