# SPDX-License-Identifier: Apache-2.0
"""Tests that errors of common mistakes show the code to write."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as onp


@pytest.mark.parametrize("name", ["concatenate", "stack"])
def test_joined_arrays_passed_apart(name):
    with pytest.raises(TypeError, match=rf"one sequence: {name}\(\[x, y\]\)"):
        getattr(onp, name)(onp.ones(3), onp.ones(3))


def test_a_wrong_axis_is_no_array():
    with pytest.raises(TypeError, match=r"got 0\.5$"):
        onp.concatenate([onp.ones(3)], 0.5)


def test_subscripts_after_the_arrays():
    with pytest.raises(ValueError, match="subscripts before the arrays"):
        onp.einsum(np.ones((2, 3)), "ij->i")
    with pytest.raises(ValueError, match="subscripts before the arrays"):
        onp.einsum(np.ones((2, 3)), np.ones((3, 2)), "ij,jk->ik")


def test_lists_of_labels_are_subscripts():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(onp.einsum(x, [0, 1], [0]), x.sum(1))


def test_assignment_to_at():
    with pytest.raises(TypeError, match=r"x = x\.at\[index\]\.set\(values\)"):
        onp.ones(3).at[0] = 3.0


def test_call_of_at():
    with pytest.raises(TypeError, match=r"in brackets: `x\.at\[index\]"):
        onp.ones(3).at(0)


@pytest.mark.parametrize(
    ("name", "advice"),
    [("sub", "subtract"), ("times", "multiply"), ("assign", "set"), ("adds", "add")],
)
def test_names_of_updates(name, advice):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'.*{advice}"):
        getattr(onp.ones(3).at[0], name)


def test_absent_attributes_of_updates():
    assert not hasattr(onp.ones(3).at[0], "__array__")


def test_determinants_of_matrices_that_are_not_square():
    with pytest.raises(ValueError, match=r"Argument to det\(\) must have shape"):
        onp.linalg.det(onp.ones((2, 3)))
