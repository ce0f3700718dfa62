# SPDX-License-Identifier: Apache-2.0
"""Exemption from samples: `ragged_all_to_all` needs a named axis."""

from __future__ import annotations

from olympus_ir import lax

from .declarations import samples

samples.exempt(lax.ragged_all_to_all_p, reason="means something across a named axis only")
