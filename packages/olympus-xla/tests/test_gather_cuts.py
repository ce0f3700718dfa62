# SPDX-License-Identifier: Apache-2.0
"""Gathers that take elements of a computed array repeatedly."""

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_ir import lax
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.avals import get_aval
from olympus_xla import jit
from olympus_xla.compiling.lowering.cuts.operands import cut_from_operands

RNG = np.random.default_rng(0)
X = RNG.random(4000, np.float32)
PLACES = RNG.integers(0, X.size, (4 * X.size, 1)).astype(np.int32)
NUMBERS = lax.GatherDimensionNumbers((), (0,), (0,))


def taken(x, places=PLACES):
    return lax.gather(x, places, NUMBERS, (1,), mode="promise_in_bounds")


def cuts_of(function, *args, platforms=("cpu",)):
    closed = trace_to_closed(lambda *xs: [function(*xs)], tuple(map(get_aval, args)))
    return cut_from_operands(closed.jaxpr, platforms)[1]


@pytest.mark.parametrize("in_a_call", [False, True])
def test_values_equal_numpy(in_a_call):
    def function(x):
        return lax.mul(taken(lax.sin(x)), np.float32(2))

    found = jit(jit(function) if in_a_call else function)(X)
    assert np.allclose(found, 2 * np.sin(X)[PLACES[:, 0]], rtol=1e-6)


def test_gradients_count_the_gathered_elements():
    gradient = jit(grad(lambda x: lax.reduce_sum(taken(lax.sin(x)), (0,))))(X)
    counts = np.bincount(PLACES[:, 0], minlength=X.size)
    assert np.allclose(gradient, counts * np.cos(X), rtol=1e-5)


def test_expensive_values_are_cut():
    (equation,) = cuts_of(lambda x: taken(lax.neg(lax.sin(x))), X).equations
    assert equation.primitive is lax.neg_p


def test_sums_are_cut():
    (equation,) = cuts_of(
        lambda x: taken(lax.reduce_sum(lax.reshape(x, (1000, 4)), (1,)), PLACES % 1000), X
    ).equations
    assert equation.primitive is lax.reduce_sum_p


@pytest.mark.parametrize(
    "function",
    [
        lambda x: taken(lax.mul(x, x)),
        lambda x: taken(lax.sin(x), PLACES[: X.size]),
        lambda x: taken(lax.slice(lax.sin(x), (0,), (9,)), PLACES[:200] % 9),
        lambda x: lax.sin(taken(x)),
        lambda x: taken(lax.sort(lax.sin(x))),
    ],
    ids=["cheap", "few places", "small", "computed afterwards", "not fused"],
)
def test_other_values_are_not_cut(function):
    assert cuts_of(function, X) is None


def test_other_platforms_are_not_cut():
    assert cuts_of(lambda x: taken(lax.sin(x)), X, platforms=("cuda",)) is None
    assert cuts_of(lambda x: taken(lax.sin(x)), X, platforms=("cpu", "cuda")) is None
