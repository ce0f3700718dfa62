# SPDX-License-Identifier: Apache-2.0
"""Taylor rules of Fourier transforms, which are linear."""

from __future__ import annotations

from olympus_ir import lax

from ..tables import bound, jet_rules, linear_prop

jet_rules.define(lax.fft_p, bound(linear_prop, lax.fft_p))
