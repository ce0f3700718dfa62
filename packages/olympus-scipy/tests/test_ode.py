# SPDX-License-Identifier: Apache-2.0
"""Initial value problems whose solutions are known, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as onp
from olympus_autodiff import grad, jvp
from olympus_autodiff.derivative_checks import check_grads
from olympus_batching import vmap
from olympus_ir.config import enable_x64
from olympus_scipy.ode import odeint

TIMES = np.linspace(0, 2, 5)


@pytest.fixture(autouse=True)
def double_precision():
    with enable_x64(True):
        yield


def decay(y, t, rate):
    return -rate * y


def pendulum(y, t, friction, gravity):
    angle, speed = y
    return onp.stack([speed, -friction * speed - gravity * onp.sin(angle)])


def test_solutions_that_are_known():
    states = odeint(decay, np.array([1.0, 2.0]), TIMES, 0.5)
    np.testing.assert_allclose(states, np.exp(-0.5 * TIMES)[:, None] * [1, 2], rtol=1e-7)
    squares = odeint(lambda y, t: 2 * t, np.array(0.0), TIMES)
    np.testing.assert_allclose(squares, TIMES**2, atol=1e-7)


def test_trees_of_states():
    states = odeint(
        lambda y, t: {"a": -y["a"], "b": y["a"]}, {"a": np.ones(2), "b": np.zeros(2)}, TIMES
    )
    np.testing.assert_allclose(states["b"], np.repeat(1 - np.exp(-TIMES)[:, None], 2, 1), atol=1e-7)


def test_a_pendulum_is_where_jax_finds_it():
    states = odeint(pendulum, np.array([np.pi - 0.1, 0.0]), TIMES, 0.12, 9.8, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(states[-1], [-2.25434, -1.3377], rtol=1e-4)


def test_derivatives_by_all_arguments():
    def last(y0, times, rate):
        return odeint(decay, y0, times, rate, rtol=1e-9, atol=1e-9)[-1]

    y0, rate, time = 2.0, 0.5, TIMES[-1]
    by_y0, by_times, by_rate = grad(last, argnums=(0, 1, 2))(y0, TIMES, rate)
    np.testing.assert_allclose(by_y0, np.exp(-rate * time), rtol=1e-6)
    np.testing.assert_allclose(by_rate, -time * y0 * np.exp(-rate * time), rtol=1e-6)
    slope = -rate * y0 * np.exp(-rate * time)
    np.testing.assert_allclose(by_times, [-slope, 0, 0, 0, slope], rtol=1e-6, atol=1e-12)
    closed_over = grad(lambda rate: odeint(lambda y, t: -rate * y, y0, TIMES)[-1])(rate)
    np.testing.assert_allclose(closed_over, by_rate, rtol=1e-6)


def test_derivatives_of_a_nonlinear_system():
    start = np.array([1.0, 0.0])
    times = np.array([0.0, 0.3])
    check_grads(
        lambda y0, gravity: odeint(pendulum, y0, times, 0.1, gravity, rtol=1e-10, atol=1e-10)[-1],
        (start, 3.0),
        order=1,
        modes=["rev"],
        eps=1e-4,
    )


def test_mapped_problems():
    starts = np.array([1.0, 2.0])
    states = vmap(lambda y0: odeint(decay, y0, TIMES, 0.5)[-1])(starts)
    np.testing.assert_allclose(states, starts * np.exp(-1), rtol=1e-6)


def test_steps_are_limited():
    few = odeint(decay, np.array(1.0), TIMES, 5.0, mxstep=1, rtol=1e-10, atol=1e-10)
    assert abs(float(few[-1]) - np.exp(-10)) > 1e-6 or not np.isfinite(few[-1])
    fine = odeint(decay, np.array(1.0), TIMES, 0.5, hmax=0.01)
    np.testing.assert_allclose(fine, np.exp(-0.5 * TIMES), rtol=1e-7)


def test_bad_arguments_are_refused():
    with pytest.raises(TypeError, match="floating numbers"):
        odeint(decay, np.array(1), TIMES, 0.5)
    with pytest.raises(TypeError, match="not a valid"):
        odeint(decay, np.array(1.0), TIMES, "fast")
    with pytest.raises(TypeError, match="forward-mode"):
        jvp(lambda y0: odeint(decay, y0, TIMES, 0.5), (1.0,), (1.0,))
