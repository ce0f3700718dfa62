# SPDX-License-Identifier: Apache-2.0
"""Arrays made where the caller says."""

from __future__ import annotations

import olympus
import olympus.numpy as jnp


def test_functions_that_make_arrays_take_a_device():
    device = olympus.devices()[-1]
    x = jnp.zeros(3)
    assert x.devices() != {device}
    for made in (
        jnp.array([1, 2], device=device),
        jnp.asarray(x, device=device),
        jnp.zeros(3, device=device),
        jnp.full(3, 2.0, device=device),
        jnp.arange(3, device=device),
        jnp.linspace(0, 1, 3, device=device),
        jnp.zeros_like(x, device=device),
    ):
        assert made.devices() == {device}
