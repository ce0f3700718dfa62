# SPDX-License-Identifier: Apache-2.0
"""Derivatives of collectives under `vmap`, compared with those of sums over the axis."""

from __future__ import annotations

import numpy as np
import pytest

from olympus_autodiff import jacfwd, jacrev
from olympus_batching import vmap
from olympus_ir import lax

SIZE = 4
X = np.array([0.5, -1.0, 2.0, 0.25], np.float32)
M = np.arange(16, dtype=np.float32).reshape(4, 4) / 7


def mapped(f):
    return vmap(f, axis_name="i")


@pytest.mark.parametrize("jacobian", [jacfwd, jacrev])
@pytest.mark.parametrize(
    "f, expected",
    [
        (lambda x: lax.psum(lax.mul(x, x), "i"), np.tile(2 * X, (4, 1))),
        (lambda x: lax.pmean(lax.mul(x, x), "i"), np.tile(2 * X, (4, 1)) / 4),
        (lambda x: lax.pmax(x, "i"), np.tile([0, 0, 1, 0], (4, 1))),
        (lambda x: lax.pmin(x, "i"), np.tile([0, 1, 0, 0], (4, 1))),
        (
            lambda x: lax.ppermute(lax.mul(x, x), "i", [(0, 1), (1, 2)]),
            [[0, 0, 0, 0], [1, 0, 0, 0], [0, -2, 0, 0], [0, 0, 0, 0]],
        ),
        (lambda x: lax.pbroadcast(x, "i", 2), np.tile([0, 0, 1, 0], (4, 1))),
        (
            lambda x: lax.mul(x, lax.convert_element_type(lax.axis_index("i"), np.float32)),
            np.diag([0, 1, 2, 3]),
        ),
    ],
)
def test_jacobians_of_scalars_have_known_values(jacobian, f, expected):
    np.testing.assert_allclose(jacobian(mapped(f))(X), expected, rtol=1e-6)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: lax.all_gather(x, "i"),
        lambda x: lax.all_gather(x, "i", tiled=True),
        lambda x: lax.psum_scatter(x, "i"),
        lambda x: lax.psum_scatter(x, "i", tiled=True),
        lambda x: lax.all_to_all(x, "i", 0, 0),
        lambda x: lax.all_to_all(x, "i", 0, 0, tiled=True),
        lambda x: lax.psum(x, ("i", 0)),
    ],
)
def test_both_modes_agree_on_vectors(f):
    g = mapped(lambda x: f(lax.sin(x)))
    forward, backward = jacfwd(g)(M), jacrev(g)(M)
    assert np.abs(np.asarray(forward)).max() > 0.1
    np.testing.assert_allclose(forward, backward, rtol=1e-5, atol=1e-6)


def test_ties_share_the_tangent():
    x = np.array([1.0, 3.0, 3.0, 0.0], np.float32)
    found = jacrev(mapped(lambda x: lax.pmax(x, "i")))(x)
    np.testing.assert_allclose(found, np.tile([0, 0.5, 0.5, 0], (4, 1)))
