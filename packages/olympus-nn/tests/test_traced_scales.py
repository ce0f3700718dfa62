# SPDX-License-Identifier: Apache-2.0
"""Initializers whose scale is computed while a function is traced."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_random as random
from olympus_ir.programs.jit import jit
from olympus_nn import initializers

SHAPE = (3, 3, 3)
INITIALIZERS = {
    "uniform": initializers.uniform,
    "normal": initializers.normal,
    "truncated_normal": initializers.truncated_normal,
    "constant": initializers.constant,
    "orthogonal": initializers.orthogonal,
    "delta_orthogonal": initializers.delta_orthogonal,
    **{
        f"variance_{law}": lambda scale, law=law: initializers.variance_scaling(
            scale, "fan_in", law
        )
        for law in ("normal", "uniform", "truncated_normal")
    },
}


@pytest.mark.parametrize("name", INITIALIZERS)
def test_scales_may_be_traced(name):
    key, initializer = random.key(0), INITIALIZERS[name]
    traced = jit(lambda scale: initializer(scale)(key, SHAPE))(2.0)
    np.testing.assert_allclose(traced, initializer(2.0)(key, SHAPE), rtol=1e-5, atol=1e-6)
