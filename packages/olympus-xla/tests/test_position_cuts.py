# SPDX-License-Identifier: Apache-2.0
"""Positions of extremes in arrays that are expensive to compute."""

import numpy as np
import pytest

from olympus_ir import lax
from olympus_ir.programs.staging import trace_to_closed
from olympus_ir.types.avals import get_aval
from olympus_xla import jit
from olympus_xla.compiling.lowering.cuts.operands import cut_from_operands

X = np.random.default_rng(0).random((1000, 10), np.float32) + np.float32(0.1)


def position(x, axis=1):
    return lax.argmax(x, axis, np.int32)


def cuts_of(function, *args, platforms=("cpu",)):
    closed = trace_to_closed(lambda *xs: [function(*xs)], tuple(map(get_aval, args)))
    return cut_from_operands(closed.jaxpr, platforms)[1]


@pytest.mark.parametrize("axis", [0, 1])
def test_positions_equal_numpy(axis):
    found = jit(lambda x: position(lax.neg(lax.log(x)), axis))(X)
    assert np.array_equal(found, X.argmin(axis))


def test_expensive_arrays_are_cut():
    (equation,) = cuts_of(lambda x: position(lax.neg(lax.log(x))), X).equations
    assert equation.primitive is lax.neg_p


@pytest.mark.parametrize(
    "function",
    [
        lambda x: position(lax.mul(x, x)),
        lambda x: position(lax.log(lax.slice(x, (0, 0), (400, 10)))),
        position,
    ],
    ids=["cheap", "small", "given"],
)
def test_other_arrays_are_not_cut(function):
    assert cuts_of(function, X) is None


def test_other_platforms_are_not_cut():
    assert cuts_of(lambda x: position(lax.log(x)), X, platforms=("cuda",)) is None
