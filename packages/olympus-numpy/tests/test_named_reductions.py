# SPDX-License-Identifier: Apache-2.0
"""Reductions over named axes, compared with NumPy's reductions of the whole batch."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as onp
from olympus_autodiff import grad
from olympus_batching import vmap
from olympus_numpy.numerics.log_sums import logsumexp

BATCH = np.array([[[1.0, -2.0, 0.0], [4.0, 0.5, 3.0]], [[-1.0, 2.5, 7.0], [0.0, 1.0, -3.0]]])
BATCH = BATCH.astype(np.float32)
WITH_NAN = np.where(BATCH > 3, np.nan, BATCH).astype(np.float32)

FUNCTIONS = {
    "sum": (onp.sum, np.sum, BATCH),
    "mean": (onp.mean, np.mean, BATCH),
    "max": (onp.max, np.max, BATCH),
    "min": (onp.min, np.min, BATCH),
    "var": (onp.var, np.var, BATCH),
    "std": (onp.std, np.std, BATCH),
    "ptp": (onp.ptp, np.ptp, BATCH),
    "count_nonzero": (onp.count_nonzero, np.count_nonzero, BATCH),
    "nansum": (onp.nansum, np.nansum, WITH_NAN),
    "nanmean": (onp.nanmean, np.nanmean, WITH_NAN),
    "nanvar": (onp.nanvar, np.nanvar, WITH_NAN),
    "nanstd": (onp.nanstd, np.nanstd, WITH_NAN),
    "logsumexp": (logsumexp, lambda x, axis: np.log(np.sum(np.exp(x), axis)), BATCH),
}
# Axes inside vmap, and the axes of the batch that they are.
AXES = [("i", 0), (("i",), 0), (("i", 0), (0, 1)), ((-1, "i"), (0, 2)), ((0, "i", 1), (0, 1, 2))]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize(("axis", "of_batch"), AXES)
def test_named_axes_are_axes_of_the_batch(name, axis, of_batch):
    function, of_numpy, batch = FUNCTIONS[name]
    result = vmap(lambda x: function(x, axis=axis), axis_name="i")(batch)
    expected = of_numpy(batch, axis=of_batch)
    assert result.shape == (2, *expected.shape)
    np.testing.assert_allclose(result, np.broadcast_to(expected, result.shape), 1e-5, 1e-6)


def test_options_hold_for_named_axes():
    mask = np.array([[True, False, True], [True, True, False]])

    def reduce(function, **options):
        return vmap(lambda x: function(x, axis=("i", 0), **options), axis_name="i")(BATCH)[0]

    whole = np.broadcast_to(mask, BATCH.shape)
    np.testing.assert_allclose(
        reduce(onp.mean, where=mask), np.mean(BATCH, (0, 1), where=whole), 1e-6
    )
    np.testing.assert_allclose(
        reduce(onp.var, where=mask), np.var(BATCH, (0, 1), where=whole), 1e-5
    )
    np.testing.assert_allclose(
        reduce(onp.sum, initial=2.0, where=mask), np.sum(BATCH, (0, 1), initial=2, where=whole)
    )
    np.testing.assert_allclose(reduce(onp.max, initial=6.0), np.max(BATCH, (0, 1), initial=6))
    assert reduce(onp.mean, keepdims=True).shape == (1, 3)
    assert reduce(onp.sum, dtype="int32").dtype == np.int32


def test_methods_take_named_axes():
    result = vmap(lambda x: x - x.sum(axis="i"), axis_name="i")(BATCH)
    np.testing.assert_allclose(result, BATCH - BATCH.sum(0), 1e-6)


def test_gradient_of_a_mean_over_a_named_axis():
    def loss(batch):
        centered = vmap(lambda x: x - onp.mean(x, axis="i"), axis_name="i")(batch)
        return onp.sum(centered**2)

    # The derivative of the sum of squares about the mean is twice the centered batch.
    np.testing.assert_allclose(grad(loss)(BATCH), 2 * (BATCH - BATCH.mean(0)), 1e-5, 1e-6)


def test_unbound_names_and_other_functions_are_refused():
    with pytest.raises(NameError, match="unbound axis name: j"):
        vmap(lambda x: onp.sum(x, axis="j"), axis_name="i")(BATCH)
    for function in (onp.prod, onp.all, onp.median, onp.argmax):
        with pytest.raises(NameError, match="got the axis name 'i'"):
            vmap(lambda x, f=function: f(x, axis="i"), axis_name="i")(BATCH)
