# SPDX-License-Identifier: Apache-2.0
"""Comparison of orthogonal weights with JAX's numbers."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_random as random
from olympus_nn.initializers import delta_orthogonal, orthogonal

KEY = random.key(0)


def test_numbers_equal_jax():
    np.testing.assert_allclose(
        orthogonal()(KEY, (3, 2)),
        [[0.96083665, 0.18604839], [-0.25675002, 0.3188112], [0.10427104, -0.92937905]],
        rtol=1e-5,
    )
    np.testing.assert_allclose(
        orthogonal(2.0)(KEY, (2, 3)),
        [[1.9216733, -0.51350003, 0.20854208], [0.37209678, 0.6376224, -1.8587581]],
        rtol=1e-5,
    )


@pytest.mark.parametrize(("shape", "axis"), [((4, 3), -1), ((2, 3, 4), -1), ((5, 2, 2), 0)])
def test_matrices_are_orthogonal(shape, axis):
    weights = np.moveaxis(np.asarray(orthogonal(column_axis=axis)(KEY, shape)), axis, -1)
    matrix = weights.reshape(-1, weights.shape[-1])
    square = matrix.T @ matrix if matrix.shape[0] >= matrix.shape[1] else matrix @ matrix.T
    np.testing.assert_allclose(square, np.eye(len(square)), atol=1e-5)


def test_delta_orthogonal_is_zero_off_the_centre():
    weights = np.array(delta_orthogonal()(KEY, (3, 3, 2, 2)))
    center = weights[1, 1].copy()
    np.testing.assert_allclose(center @ center.T, np.eye(2), atol=1e-5)
    weights[1, 1] = 0
    assert not weights.any()


def test_invalid_shapes_raise():
    with pytest.raises(ValueError, match="at least a 2D shape"):
        orthogonal()(KEY, (3,))
    with pytest.raises(ValueError, match="3D, 4D or 5D"):
        delta_orthogonal()(KEY, (3, 3))
    with pytest.raises(ValueError, match="`fan_in` must be less"):
        delta_orthogonal()(KEY, (3, 3, 2))
