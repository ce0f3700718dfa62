# SPDX-License-Identifier: Apache-2.0
"""Warnings point to the line of the user's program."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus import lax
from olympus.scipy import signal

ONES = np.ones(4, np.float32)
CALLS = {
    "asarray": lambda: jnp.asarray(1, dtype="int64"),
    "zeros": lambda: jnp.zeros(3, "float64"),
    "overflow": lambda: jnp.asarray(1e300),
    "update": lambda: jnp.zeros(3, np.int32).at[0].set(1.5),
    "donation": lambda: olympus.jit(jnp.sum, donate_argnums=0)(jnp.ones(3)),
    "complex": lambda: lax.convert_element_type(jnp.ones(2, complex), "float32"),
    "vmap": lambda: olympus.vmap(lambda x: x.astype("float64"))(ONES),
    "grad": lambda: olympus.jit(olympus.grad(lambda x: x.astype("float64").sum()))(ONES),
    "scan": lambda: lax.scan(lambda c, x: (c, x.astype("float64")), 0, ONES),
    "welch": lambda: signal.welch(ONES, nperseg=20),
    "moved name": lambda: olympus.core.check_jaxpr,
    "pjit": lambda: olympus.experimental.pjit.pjit(jnp.sum)(ONES),
}


@pytest.mark.parametrize("name", CALLS)
def test_warnings_point_to_the_line_of_the_user(name):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        CALLS[name]()
    line = CALLS[name].__code__.co_firstlineno
    assert {(each.filename, each.lineno) for each in caught} == {(__file__, line)}
