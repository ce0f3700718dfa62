# SPDX-License-Identifier: Apache-2.0
"""Constant indices that are out of range: results, and errors of checkify."""

from __future__ import annotations

import numpy as np
import pytest

import olympus
import olympus.numpy as jnp
from olympus.experimental import checkify

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    "index, value, axis",
    [((7, 1), X[1, 1], 0), ((1, 9), X[1, 2], 1), ((-5, 0), X[0, 0], 0), (3, X[1], 0)],
)
@pytest.mark.parametrize("transform", [lambda f: f, olympus.jit])
def test_constant_indices_out_of_range(index, value, axis, transform) -> None:
    checked = checkify.checkify(transform(lambda x: x[index]), errors=checkify.index_checks)
    error, result = checked(jnp.asarray(X))
    np.testing.assert_array_equal(result, value)  # the nearest element is taken
    assert f"is out of bounds for axis {axis} with size {X.shape[axis]}" in error.get()


def test_constant_indices_in_range_become_slices() -> None:
    program = olympus.make_olympuspr(lambda x: x[1, -1])(X)
    assert [equation.primitive.name for equation in program.eqns] == ["slice", "squeeze"]
    error, _ = checkify.checkify(lambda x: x[1, -1], errors=checkify.index_checks)(jnp.asarray(X))
    assert error.get() is None
