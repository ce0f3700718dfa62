# SPDX-License-Identifier: Apache-2.0
"""Slices of stacked operands whose starts become values, so that equal steps are compiled once."""

from __future__ import annotations

import re

import numpy as np
import pytest

from olympus_autodiff import grad
from olympus_ir import lax
from olympus_ir.programs.make import make_olympuspr
from olympus_ir.settings import config_flags
from olympus_xla.calls.jit import jit
from olympus_xla.compiling.lowering.cuts.window_starts import with_starts_as_values

RNG = np.random.default_rng(0)
STEPS = 16
W = RNG.normal(size=(STEPS, 6)).astype(np.float32)
X = RNG.normal(size=(4, 6)).astype(np.float32)


def row(stack, i):
    return lax.squeeze(lax.slice(stack, (i, 0), (i + 1, stack.shape[1])), (0,))


def steps(w, x):
    """Steps that take one row each of a stack."""
    for i in range(w.shape[0]):
        h = lax.mul(x, lax.broadcast_in_dim(row(w, i), x.shape, (1,)))
        x = lax.tanh(lax.add(h, lax.mul(x, lax.sub(x, h))))
    return lax.reduce_sum(lax.mul(x, x), (0, 1))


def steps_numpy(w, x):
    for each in w:
        h = x * each
        x = np.tanh(h + x * (x - h))
    return np.sum(x * x)


def slices_of(function, *args, platforms=("cpu",)):
    """Returns the names of the slices of a program after the pass, and whether it changed."""
    olympuspr = make_olympuspr(function)(*args).jaxpr
    result, cuts = with_starts_as_values(olympuspr, platforms)
    assert (cuts is None) == (result is olympuspr)
    names = [each.primitive.name for each in result.eqns]
    return names.count("slice"), names.count("dynamic_slice")


@pytest.fixture
def without_outlining():
    config_flags.outline_repeated_blocks.update(False)
    yield
    config_flags.outline_repeated_blocks.update(True)


def test_slices_of_stacks_take_starts_as_values():
    assert slices_of(steps, W, X) == (0, STEPS)


def test_results_equal_numpy():
    compiled = jit(steps).lower(W, X).compile()
    expected = steps_numpy(W.astype(np.float64), X.astype(np.float64))
    np.testing.assert_allclose(compiled(W, X), expected, rtol=1e-5)


def test_gradient_equals_finite_differences(without_outlining):
    gradient = np.asarray(jit(grad(steps))(W, X), np.float64)
    direction = RNG.normal(size=W.shape)
    ahead, behind = (
        steps_numpy(W + sign * 1e-6 * direction, X.astype(np.float64)) for sign in (1, -1)
    )
    np.testing.assert_allclose(
        np.sum(gradient * direction), (ahead - behind) / 2e-6, rtol=1e-4, atol=1e-5
    )


def test_steps_share_compiled_functions(without_outlining):
    """No fused function of the executable holds a constant start of a step."""
    compiled = jit(steps).lower(W, X).compile()
    assert compiled.report().windows == STEPS
    assert f"{STEPS} slices take their starts from memory" in str(compiled.report())
    text = compiled.as_text()
    assert not re.search(r" slice\(", text)
    assert "dynamic-slice" in text


def few(w, x):
    return steps(lax.slice(w, (0, 0), (7, 6)), x)


def computed(w, x):
    return steps(lax.mul(w, w), x)


def seven(w, x):
    for _ in range(10):
        for i in range(7):
            x = lax.mul(x, lax.broadcast_in_dim(row(w, i), x.shape, (1,)))
    return x


def strided(w, x):
    for i in range(STEPS):
        each = lax.slice(w, (i, 0), (i + 1, 6), (1, 2))
        x = lax.mul(lax.tanh(x), lax.reduce_sum(each, (0, 1)))
    return x


def polynomial(c, x):
    y = x
    for i in range(c.shape[0]):
        y = lax.add(lax.mul(y, x), lax.squeeze(lax.slice(c, (i,), (i + 1,)), (0,)))
    return y


@pytest.mark.parametrize(
    ("function", "args"),
    [
        pytest.param(few, (W, X), id="slices of a slice"),
        pytest.param(computed, (W, X), id="a computed stack"),
        pytest.param(seven, (W, X), id="few starts"),
        pytest.param(strided, (W, X), id="strides"),
        pytest.param(polynomial, (np.ones(30, np.float32), X), id="numbers of one stack"),
        pytest.param(steps, (W[:8, :], X), id="a small program"),
    ],
)
def test_programs_that_are_unchanged(function, args):
    olympuspr = make_olympuspr(function)(*args).jaxpr
    if function is steps:
        olympuspr = olympuspr.replace(eqns=olympuspr.eqns[:40], outvars=[])
    result, cuts = with_starts_as_values(olympuspr, ("cpu",))
    assert result is olympuspr
    assert cuts is None


def test_other_platforms_are_unchanged():
    assert slices_of(steps, W, X, platforms=("cuda",)) == (STEPS, 0)
    assert slices_of(steps, W, X, platforms=("cpu", "cuda")) == (STEPS, 0)


def test_three_stacks_take_starts_as_values():
    def recurrence(a, b, c):
        first = [lax.squeeze(lax.slice(each, (0,), (1,)), (0,)) for each in (a, b, c)]
        y = first[0]
        for i in range(STEPS):
            p, q, r = (lax.squeeze(lax.slice(each, (i,), (i + 1,)), (0,)) for each in (a, b, c))
            y = lax.div(lax.add(lax.mul(p, y), q), lax.add(lax.abs(r), np.float32(1)))
        return y

    a, b, c = RNG.normal(size=(3, STEPS)).astype(np.float32)
    assert slices_of(recurrence, a, b, c) == (0, 3 * STEPS + 3)
    y = a[0]
    for p, q, r in zip(*(each.astype(np.float64) for each in (a, b, c)), strict=True):
        y = (p * y + q) / (abs(r) + 1)
    np.testing.assert_allclose(jit(recurrence)(a, b, c), y, rtol=1e-5)
