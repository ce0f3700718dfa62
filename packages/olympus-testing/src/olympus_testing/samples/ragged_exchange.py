# SPDX-License-Identifier: Apache-2.0
"""The exchange of ragged pieces needs a named axis, which a primitive alone has not: exempt."""

from __future__ import annotations

from olympus_ir import lax

from .declarations import samples

samples.exempt(lax.ragged_all_to_all_p, reason="means something across a named axis only")
