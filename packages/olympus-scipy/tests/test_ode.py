# SPDX-License-Identifier: Apache-2.0
"""Initial value problems with known solutions, and their derivatives."""

from __future__ import annotations

import numpy as np
import pytest

import olympus_numpy as onp
from olympus_autodiff import grad, jvp
from olympus_autodiff.reverse.derivative_checks import check_grads
from olympus_batching import vmap
from olympus_ir.diagnostics.errors import ShapeError
from olympus_ir.settings.config import enable_x64
from olympus_ir.trees.flattening import debug_info
from olympus_numpy.arrays.flatten_util import ravel_pytree
from olympus_scipy.ode.solver import odeint
from olympus_scipy.ode.steps import (
    abs2,
    fit_4th_order_polynomial,
    initial_step_size,
    interp_fit_dopri,
    mean_error_ratio,
    optimal_step_size,
    ravel_first_arg,
    runge_kutta_step,
)

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


def test_pendulum_equals_jax():
    states = odeint(pendulum, np.array([np.pi - 0.1, 0.0]), TIMES, 0.12, 9.8, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(states[-1], [-2.25434, -1.3377], rtol=1e-4)


def test_derivatives_with_respect_to_all_arguments():
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


def test_batches_of_problems_equal_single_ones():
    starts = np.array([1.0, 2.0])
    states = vmap(lambda y0: odeint(decay, y0, TIMES, 0.5)[-1])(starts)
    np.testing.assert_allclose(states, starts * np.exp(-1), rtol=1e-6)


def test_steps_are_limited():
    few = odeint(decay, np.array(1.0), TIMES, 5.0, mxstep=1, rtol=1e-10, atol=1e-10)
    assert abs(float(few[-1]) - np.exp(-10)) > 1e-6 or not np.isfinite(few[-1])
    fine = odeint(decay, np.array(1.0), TIMES, 0.5, hmax=0.01)
    np.testing.assert_allclose(fine, np.exp(-0.5 * TIMES), rtol=1e-7)


def test_bad_arguments_are_refused():
    with pytest.raises(TypeError, match="needs states of floating or complex numbers"):
        odeint(decay, np.array(1), TIMES, 0.5)
    with pytest.raises(TypeError, match=r"contents of odeint \*args must be arrays .* got 'fast'"):
        odeint(decay, np.array(1.0), TIMES, "fast")
    for times in (3.0, [0.0, 1.0], np.arange(3)):
        with pytest.raises(TypeError, match="t must be an array of floats, but got"):
            odeint(decay, np.array(1.0), times, 0.5)
    for times in (np.zeros(0), np.ones((2, 2))):
        with pytest.raises(ShapeError, match=r"t must be a vector .* got the shape \([02]"):
            odeint(decay, np.array(1.0), times, 0.5)
    with pytest.raises(TypeError, match="first argument must be callable, got 3"):
        odeint(3, np.array(1.0), TIMES, 0.5)
    with pytest.raises(TypeError, match="forward-mode"):
        jvp(lambda y0: odeint(decay, y0, TIMES, 0.5), (1.0,), (1.0,))


# ---- parts of a step ----


def test_step_is_of_the_fifth_order():
    """Checks that the error of a step falls with the sixth power of its size."""
    errors = []
    for size in (0.2, 0.1):
        y0 = np.array([1.0, 2.0])
        y1, f1, error, stages = runge_kutta_step(lambda y, t: -y, y0, -y0, 0.0, size)
        errors.append(np.max(np.abs(y1 - y0 * np.exp(-size))))
        np.testing.assert_allclose(f1, -y1, rtol=1e-12)
        assert stages.shape == (7, 2) and np.all(np.abs(error) < 1e-3)
    assert 2**5.5 < errors[0] / errors[1] < 2**6.5


def test_interpolant_is_exact_at_the_ends():
    y0 = np.array([1.0])
    y1, _, _, stages = runge_kutta_step(lambda y, t: -y, y0, -y0, 0.0, 0.2)
    polynomial = interp_fit_dopri(y0, y1, stages, 0.2)
    for part in (0.0, 0.3, 0.5, 1.0):
        found = np.polyval(np.asarray(polynomial)[:, 0], part)
        np.testing.assert_allclose(found, np.exp(-0.2 * part), rtol=1e-6)
    found = fit_4th_order_polynomial(*map(np.float32, (1, 2, 1.6, 0.3, 0.4, 0.5)))
    np.testing.assert_allclose(found, [1.7, -5.05, 4.2, 0.15, 1.0], rtol=1e-5)


def test_sizes_of_steps():
    """Compares with numbers of JAX 0.10.2."""
    y0 = np.array([1.0, 2.0], np.float32)
    guess = initial_step_size(lambda y, t: -y * t, 1.0, y0, 4, 1e-3, 1e-3, -y0)
    np.testing.assert_allclose(guess, 0.10371373, rtol=1e-5)
    ratio = mean_error_ratio(np.array([1e-3, 2e-3], np.float32), 1e-3, 1e-4, y0, y0 * 2)
    np.testing.assert_allclose(ratio, 0.48203266, rtol=1e-5)
    for ratio, size in ((0.0, 3.0), (0.5, 0.31014857), (1.0, 0.27), (2.0, 0.23504865), (1e6, 0.06)):
        np.testing.assert_allclose(optimal_step_size(0.3, np.float32(ratio)), size, rtol=1e-6)


def test_squares_of_moduli():
    np.testing.assert_array_equal(abs2(np.array([1 + 2j, 3], np.complex64)), [5, 9])
    np.testing.assert_array_equal(abs2(np.array([1, -3], np.float32)), [1, 9])


def test_raveled_first_argument():
    point = {"a": np.float32(1), "b": np.ones(2, np.float32)}
    flat, unravel = ravel_pytree(point)

    def scaled(point, t):
        return {"a": point["a"] * t, "b": point["b"]}

    function = ravel_first_arg(scaled, unravel, debug_info("odeint", scaled, (point, 2.0), {}))
    np.testing.assert_array_equal(function(flat, 2.0), [2, 1, 1])


# The adjoint state is one complex vector. The components for the times take real parts.
@pytest.mark.filterwarnings("ignore:Casting complex values to real")
def test_states_may_be_complex():
    start, rate = 1.0 + 2.0j, -0.5 + 3.0j
    times = np.linspace(0.0, 1.0, 4)

    def at_the_end(start, rate):
        return odeint(lambda y, t, rate: rate * y, start, times, rate, rtol=1e-9, atol=1e-9)

    found = at_the_end(start, rate)
    np.testing.assert_allclose(found, start * np.exp(rate * times), rtol=1e-5)

    def size(start):
        return onp.abs(at_the_end(start, rate)[-1])

    # The size is |start| exp(Re rate). Its gradient is conjugated, as all gradients are.
    expected = np.conj(start) / abs(start) * np.exp(-0.5)
    np.testing.assert_allclose(grad(size)(start), expected, rtol=1e-5)
